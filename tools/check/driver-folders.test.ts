import { describe, expect, test } from "bun:test";
import { checkDriverFolders, DRIVERS } from "./driver-folders.ts";
import { toSourceFile } from "./source-tree.ts";

describe("the folders of a driver", () => {
  const check = (path: string, specifier: string) => checkDriverFolders([toSourceFile(path, `import type { A } from "${specifier}";\n`)]);

  test.each([
    ["src/datastore/kubernetes/writes/a.ts", "../reads/b.ts", true],
    ["src/datastore/kubernetes/reads/a.ts", "../writes/b.ts", false],
    ["src/datastore/kubernetes/reads/a.ts", "./b.ts", true],
    ["src/datastore/kubernetes/reads/a.ts", "../kubernetes-datastore.ts", false],
    ["src/datastore/kubernetes/reads/a.ts", "../../datastore.ts", true],
    ["src/datastore/kubernetes/a.ts", "./reads/b.ts", true],
    ["src/datastore/kubernetes/a.ts", "../etcd/protocol/b.ts", false],
    ["src/datastore/etcd/plans/a.ts", "../client/b.ts", false],
    ["src/datastore/etcd/wire/grpc/a.ts", "../b.ts", true],
    ["src/datastore/etcd/wire/a.ts", "./grpc/b.ts", false],
    ["src/datastore/etcd/wire/grpc/a.ts", "../gateway/b.ts", false],
    ["src/cli/a.ts", "../datastore/etcd/protocol/b.ts", true],
  ])("%s imports %s: %p", (path, specifier, allowed) => {
    expect(check(path, specifier)).toHaveLength(allowed ? 0 : 1);
  });

  test("are all in the table, which has no two that may import each other", () => {
    expect(check("src/datastore/etcd/attic/a.ts", "../protocol/b.ts")).toEqual([
      'src/datastore/etcd/attic/a.ts: "attic" is no folder of src/datastore/etcd: put it into the table of tools/check/driver-folders.ts',
    ]);
    expect(check("src/datastore/zookeeper/a.ts", "../datastore.ts")).toEqual([
      "src/datastore/zookeeper/a.ts: is in no driver's folder: put it into the table of tools/check/driver-folders.ts",
    ]);
    expect(check("src/datastore/config/a.ts", "../datastore.ts")).toEqual([]);
    for (const folders of DRIVERS.values()) {
      const names = [...folders.keys()];
      for (const [folder, mayImport] of folders)
        expect(names.slice(0, names.indexOf(folder))).toEqual(expect.arrayContaining([...mayImport]));
    }
  });
});
