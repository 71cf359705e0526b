#!/bin/sh
# The first process of a node: gives it folders, /sys, cgroups and a host name of its own, then waits and reaps orphans. When it
# ends the kernel ends every process of the node and drops every mount.
# Usage: node-init.sh FOLDER NAME
set -eu
folder=$1 name=$2

hostname "$name"

# in /sys/class/net are the interfaces of the node's network namespace, in /sys/fs/cgroup what is below its own cgroups
umount -l /sys
mount -t sysfs sysfs /sys
. "$folder/mount-cgroups.sh"

for path in run var/lib var/log opt; do
  mkdir -p "$folder/$path"
  mount --bind "$folder/$path" "/$path"
done

# changes to /etc stay in memory, except for the network configs, which tests write from outside
mkdir -p "$folder/layer" "$folder/net.d"
mount -t tmpfs tmpfs "$folder/layer"
mkdir "$folder/layer/upper" "$folder/layer/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$folder/layer/upper,workdir=$folder/layer/work" overlay /etc
mkdir -p /etc/cni/net.d
mount --bind "$folder/net.d" /etc/cni/net.d

# containers get overlays where the file system below the node's folder lets them
mkdir -p "$folder/probe/lower" "$folder/probe/upper" "$folder/probe/work" "$folder/probe/all"
if mount -t overlay -o "lowerdir=$folder/probe/lower,upperdir=$folder/probe/upper,workdir=$folder/probe/work" overlay "$folder/probe/all" 2> /dev/null; then
  umount "$folder/probe/all"
  echo overlayfs > "$folder/snapshotter"
else
  echo native > "$folder/snapshotter"
fi

# each start is one to the kubelet, too
cat /proc/sys/kernel/random/uuid > "$folder/boot-id"
mount --bind "$folder/boot-id" /proc/sys/kernel/random/boot_id

# volumes of pods must be seen by what the kubelet starts
mount --make-rshared /
echo ready > "$folder/ready"
while :; do
  sleep 3600 &
  wait
done
