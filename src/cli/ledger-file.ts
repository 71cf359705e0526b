/** Where the CNI plugin writes its log by the configs that we install. */
export const DEFAULT_LOG_FILE = "/var/log/netplug/cni/cni.log";
