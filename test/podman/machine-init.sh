#!/bin/sh
# The first process of a machine for Podman: /run is empty at each start, /var/lib stays. When it ends the kernel ends every process of the
# machine and drops every mount.
# Usage: machine-init.sh FOLDER
set -eu
folder=$1

mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs tmpfs /dev/shm
mkdir -p "$folder/lib"
mount --bind "$folder/lib" /var/lib

echo ready > "$folder/ready"
while :; do
  sleep 3600 &
  wait
done
