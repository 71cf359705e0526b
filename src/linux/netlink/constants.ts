/**
 * Numbers of netlink and rtnetlink, in the kernel's own spelling.
 *
 * @see include/uapi/linux/{netlink,rtnetlink,if_link,if_addr,if_arp,neighbour,veth,if}.h
 */

// netlink.h: sockets
export const NETLINK_ROUTE = 0;
export const NETLINK_CAP_ACK = 10;
export const NETLINK_EXT_ACK = 11;
export const NETLINK_GET_STRICT_CHK = 12;

// netlink.h: messages
export const NLMSG_NOOP = 1;
export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;
export const NLM_F_REQUEST = 0x01;
export const NLM_F_ACK = 0x04;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
/** In an acknowledgement: the request's text is not repeated. */
export const NLM_F_CAPPED = 0x100;
/** In an acknowledgement: attributes follow. */
export const NLM_F_ACK_TLVS = 0x200;
export const NLMSGERR_ATTR_MSG = 1;

// rtnetlink.h: message types
export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_GETLINK = 18;
export const RTM_SETLINK = 19;
export const RTM_NEWADDR = 20;
export const RTM_GETADDR = 22;
export const RTM_NEWROUTE = 24;
export const RTM_GETROUTE = 26;
export const RTM_NEWNEIGH = 28;
export const RTM_GETNEIGH = 30;

// socket.h: families
export const AF_INET = 2;
export const AF_INET6 = 10;

// if.h, if_link.h, veth.h
export const IFF_UP = 0x1;
export const IFLA_ADDRESS = 1;
export const IFLA_IFNAME = 3;
export const IFLA_MTU = 4;
export const IFLA_LINK = 5;
export const IFLA_OPERSTATE = 16;
export const IFLA_LINKINFO = 18;
export const IFLA_IFALIAS = 20;
export const IFLA_NET_NS_FD = 28;
export const IFLA_EXT_MASK = 29;
export const IFLA_NUM_TX_QUEUES = 31;
export const IFLA_NUM_RX_QUEUES = 32;
export const IFLA_INFO_KIND = 1;
export const IFLA_INFO_DATA = 2;
export const IF_OPER_UP = 6;
export const VETH_INFO_PEER = 1;
export const RTEXT_FILTER_SKIP_STATS = 0x8;
/** Longest alias, without the closing NUL. */
export const IFALIAS_MAX = 255;
/** MTUs that the kernel takes for a veth, in bytes; the smaller one is also the least that carries IPv4 (RFC 791). @see include/uapi/linux/if_ether.h */
export const ETH_MIN_MTU = 68;
export const ETH_MAX_MTU = 0xffff;
/** The loopback device has this index in every namespace. */
export const LOOPBACK_IFINDEX = 1;

// if_addr.h
export const IFA_ADDRESS = 1;
export const IFA_LOCAL = 2;
export const IFA_FLAGS = 8;
export const IFA_F_NODAD = 0x02;
export const IFA_F_DADFAILED = 0x08;
export const IFA_F_TENTATIVE = 0x40;

// rtnetlink.h: routes
export const RTA_DST = 1;
export const RTA_OIF = 4;
export const RTA_GATEWAY = 5;
export const RTA_PRIORITY = 6;
export const RTA_MULTIPATH = 9;
export const RTA_TABLE = 15;
export const RT_TABLE_MAIN = 254;
export const RTN_UNICAST = 1;
export const RTN_LOCAL = 2;
/** Behind local and broadcast. */
export const RTN_ANYCAST = 4;
/** Protocol of routes that routers have advertised. */
export const RTPROT_RA = 9;
export const RT_SCOPE_UNIVERSE = 0;
export const RT_SCOPE_LINK = 253;
export const RTM_F_LOOKUP_TABLE = 0x1000;
export const RTM_F_FIB_MATCH = 0x2000;

// neighbour.h
export const NDA_DST = 1;
export const NDA_LLADDR = 2;
export const NUD_PERMANENT = 0x80;
