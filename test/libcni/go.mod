module netplug.io/netplug/test/libcni

go 1.24.0

require github.com/containernetworking/cni v1.3.0
