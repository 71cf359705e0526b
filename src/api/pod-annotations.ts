/** Annotations of Kubernetes objects that are ours: what users ask for, and what the plugin records. */

/** Begins the name of each. */
export const ANNOTATION_PREFIX = "cni.netplug.io/";
