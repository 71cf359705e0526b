import { expect, test } from "bun:test";
import { commandOf } from "../grammar/app.ts";
import { commandMeantBy, kindMeantBy } from "./other-tools.ts";
import { findKind } from "./kind-names.ts";

const DISABLE = `-p '{"spec":{"disabled":true}}'`;

test.each([
  ["api-resources", "", "get --help"],
  ["explain", "ippool", "get --help"],
  ["describe", "", "get KIND NAME -o yaml"],
  ["describe", "ippool blue", "get ippool blue -o yaml"],
  ["describe", "wep web -n prod", "get wep web -n prod -o yaml"],
  ["describe", "wep web --namespace prod", "get wep web --namespace prod -o yaml"],
  ["describe", "--namespace=prod wep web", "get --namespace=prod wep web -o yaml"],
  ["describe", "wep web -o wide", "get KIND NAME -o yaml"],
  ["describe", "wep web --namespace=", "get KIND NAME -o yaml"],
  ["describe", "ippool 'a b'", "get KIND NAME -o yaml"],
  ["rm", "", "delete KIND NAME"],
  ["rm", "ippool blue", "delete ippool blue"],
  ["edit", "", `patch KIND NAME ${DISABLE}`],
  ["edit", "ippool blue", `patch ippool blue ${DISABLE}`],
  ["set", "ippool/blue", `patch ippool/blue ${DISABLE}`],
  ["list", "ippools", "get ippools"],
  ["logs", "", "ledger"],
  ["status", "", "version"],
  ["cluster", "info", "version"],
  ["show", "ippools", "ipam show"],
  ["check", "", "ipam check"],
  ["release", "--ip=10.65.0.7", "ipam release --help"],
  ["configure", "--strictaffinity=true", "ipam configure --help"],
  ["split", "4", "ipam split --help"],
  ["adopt", "--node=n1", "ipam adopt --help"],
  ["node", "status", "get nodes -o wide"],
  ["endpoint", "", "get workloadendpoints -A"],
  ["datastore", "migrate", `patch clusterinformation default -p '{"spec":{"datastoreReady":false}}'`],
  ["datastore", "migrate lock", `patch clusterinformation default -p '{"spec":{"datastoreReady":false}}'`],
  ["datastore", "migrate unlock", `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`],
  ["datastore", "migrate unlock -c cfg", `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`],
  ["datastore", "--allow-version-mismatch migrate unlock", `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`],
  ["datastore", "migrate --allow-version-mismatch unlock", `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`],
  ["datastore", "unlock", `patch clusterinformation default -p '{"spec":{"datastoreReady":true}}'`],
  ["datastore", "migrate export", "get ippools,ipreservations,ipamconfigurations -o yaml"],
  ["datastore", "migrate import -f etcd.yaml", "apply -f FILE"],
  ["ipam list", "", "ipam show"],
  ["ipam ls", "", "ipam show"],
  ["ipam status", "", "ipam show"],
  ["create pools.yaml", "", "create -f pools.yaml"],
  ["apply ./a/pools.yaml", "", "apply -f ./a/pools.yaml"],
  ["apply -f", "a.yaml b.yml", "apply -f a.yaml -f b.yml"],
  ["create --filename", "a.yaml b.yml -f c.json", "create -f a.yaml -f b.yml -f c.json"],
  ["diff a.yaml", "b.yml", "diff -f a.yaml -f b.yml"],
  ["apply a.yaml", "-n shop", "apply -f a.yaml"],
  ["patch ippool", "blue --patch-file p.json", 'patch KIND NAME -p "$(cat FILE)"'],
  ["patch --patch-file=p.json", "ippool blue", 'patch KIND NAME -p "$(cat FILE)"'],
  ["ipam show 10.65.0.7", "", "ipam show --ip=10.65.0.7"],
  ["ipam release fd00::7", "", "ipam release --ip=fd00::7"],
  ["ipam explain n1", "", "ipam explain --node=n1"],
  ["ipam explain rack-1.a", "", "ipam explain --node=rack-1.a"],
  ["ipam explain web.yaml", "", "ipam explain -f web.yaml"],
  ["ipam adopt rack-1.a", "", "ipam adopt --node=rack-1.a"],
])("%j with %j behind it means %j, which is a command", (words, following, meant) => {
  expect(commandMeantBy(words.split(" "), following === "" ? [] : (following.match(/'[^']*'|\S+/g) ?? []))).toBe(meant);
  expect(commandOf(meant.split(" ")).words).not.toEqual([]);
});

test.each(["-v", "-V", "-version"])("%j means --version", (word) => expect(commandMeantBy([word])).toBe("--version"));

test.each([
  "bogus",
  "ipam bogus",
  "ipam explain help",
  "create blue",
  "create 'a.yaml'",
  "create -f",
  "create a;b.yaml",
  "delete pools.yaml",
  "ipam show 10.65.0",
  "ipam check 10.65.0.7",
  "ipam adopt a;b",
  "ipam explain default/web",
  "show 10.65.0.7",
  "label --patch-file=a.yaml",
])("%j means nothing that we know", (words) => expect(commandMeantBy(words.split(" "))).toBeUndefined());

test.each(["po", "pod", "Pods", "ep", "endpoint", "endpoints", "blockaffinity", "BlockAffinities"])(
  "%j is no kind of ours, and means one",
  (word) => {
    expect(findKind(word)).toBeUndefined();
    expect(findKind(kindMeantBy(word) ?? "")).toBeDefined();
  },
);
