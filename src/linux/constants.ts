/**
 * Numbers of the kernel that more than one file needs, in its own spelling; those of rtnetlink are in `netlink/constants.ts`.
 *
 * @see include/uapi/asm-generic/fcntl.h; only values that x86-64 and arm64 share (`O_DIRECTORY` and `O_NOFOLLOW` differ)
 */
export const O_RDONLY = 0o0;
export const O_WRONLY = 0o1;
export const O_RDWR = 0o2;
export const O_CREAT = 0o100;
export const O_EXCL = 0o200;
export const O_NOCTTY = 0o400;
export const O_APPEND = 0o2000;
export const O_NONBLOCK = 0o4000;
export const O_CLOEXEC = 0o2000000;
export const F_GETFD = 1;
export const FD_CLOEXEC = 1;

/** The current directory, for the `…at` calls. */
export const AT_FDCWD = -100;
/** The descriptor itself is meant. */
export const AT_EMPTY_PATH = 0x1000;

// unistd.h: access
export const X_OK = 1;
export const W_OK = 2;
export const R_OK = 4;

// poll.h
export const POLLIN = 1;
export const POLLOUT = 4;

// net.h
export const SOCK_CLOEXEC = 0o2000000;

// time.h
export const CLOCK_MONOTONIC = 1;
export const CLOCK_THREAD_CPUTIME_ID = 3;
export const CLOCK_BOOTTIME = 7;
