/** The manifest on real API servers: over nothing, over itself, over older definitions; and what kubectl shows then. */

import { describe, expect } from "bun:test";
import { join } from "node:path";
import { customResourceDefinitions } from "../../src/api/crd/mod.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { applyCrds, collection, CRDS, MANIFEST, untilServed } from "./definitions.ts";
import { objectOf } from "./verdicts.ts";

const [test, server] = onApiServer(() => startApiServer(), installOlder);

/** As an earlier release may have left it: client-side, with fields, names, a default and a column that are no more. */
async function installOlder(): Promise<void> {
  const spec = {
    type: "object",
    properties: { cidr: { type: "string" }, natOutgoing: { type: "boolean", default: true }, legacy: { type: "string" } },
  };
  const older = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "ippools.netplug.io" },
    spec: {
      group: "netplug.io",
      scope: "Cluster",
      names: {
        kind: "IPPool",
        listKind: "IPPoolList",
        plural: "ippools",
        singular: "ippool",
        shortNames: ["oldpool"],
        categories: ["old"],
      },
      versions: [
        {
          name: "v3",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
          additionalPrinterColumns: [{ name: "Legacy", type: "string", jsonPath: ".spec.legacy" }],
        },
      ],
    },
  };
  expect((await server.request("POST", `${CRDS}?fieldManager=kubectl-create`, older)).status).toBe(201);
  await server.kubectl(["wait", "--for=condition=Established", "--timeout=30s", "crd/ippools.netplug.io"]);
  const pool = objectOf("IPPool", { cidr: "10.65.0.0/16", legacy: "x" }, "kept");
  await server.kubectl(["create", "-f", "-"], JSON.stringify(pool));
}

test("the manifest and the data that netplugctl applies are the same (needs cluster)", () => {
  expect(Bun.YAML.parse(MANIFEST)).toEqual(JSON.parse(JSON.stringify(customResourceDefinitions())));
});

test("applied with kubectl as its first lines say, over an older definition, it replaces all of that (needs cluster)", async () => {
  const file = join(repositoryRoot, "manifests/crds.yaml");
  const output = await server.kubectl(["apply", "--server-side", "--force-conflicts", "-f", file]);
  expect(output.trim().split("\n")).toEqual(
    customResourceDefinitions().map(({ metadata }) => `customresourcedefinition.apiextensions.k8s.io/${metadata.name} serverside-applied`),
  );
  await untilServed(server, MANIFEST);
  const { body } = await server.request("GET", `${CRDS}/ippools.netplug.io`);
  const wanted = customResourceDefinitions().find(({ metadata }) => metadata.name === "ippools.netplug.io");
  expect(body.spec).toMatchObject(JSON.parse(JSON.stringify({ ...wanted?.spec, preserveUnknownFields: undefined })));
  expect(JSON.stringify(body.spec)).not.toContain("egacy");
  expect(JSON.stringify(body.spec)).not.toContain("oldpool");
});

test("objects of the older definition are still there, and can be changed (needs cluster)", async () => {
  const path = `${collection("ippools")}/kept`;
  const { body } = await server.request("GET", path);
  expect(body.spec).toMatchObject({ cidr: "10.65.0.0/16", natOutgoing: true, assignmentMode: "Automatic" });
  expect(body.spec).not.toHaveProperty("legacy");
  const changed = await server.request("PATCH", path, { spec: { disabled: true } }, "application/merge-patch+json");
  expect(changed).toMatchObject({ status: 200, body: { spec: { disabled: true } } });
});

test("applied again, by whomever, it changes nothing (needs cluster)", async () => {
  const generations = async (): Promise<string> =>
    await server.kubectl(["get", "crd", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{'\\n'}{end}"]);
  const before = await generations();
  await applyCrds(server, MANIFEST);
  await applyCrds(server, MANIFEST, "somebody-else");
  expect(await generations()).toBe(before);
});

describe("kubectl", () => {
  test("knows kinds by their short names, and all of them together (needs cluster)", async () => {
    await server.kubectl(["create", "-f", "-"], JSON.stringify(objectOf("IPAMConfiguration", {})));
    for (const name of ["ipp", "pool", "ippool", "ippools", "ippools.netplug.io"]) {
      expect(await server.kubectl(["get", name, "-o", "name"])).toBe("ippool.netplug.io/kept\n");
    }
    expect(await server.kubectl(["get", "netplug", "-o", "name"])).toBe("ipamconfiguration.netplug.io/default\nippool.netplug.io/kept\n");
  });

  test("shows columns, more of them when asked for (needs cluster)", async () => {
    const table = async (...args: string[]): Promise<string[]> => {
      const [heading = "", row = ""] = (await server.kubectl(["get", "ippools", ...args])).split("\n");
      expect(row).toContain("10.65.0.0/16");
      return heading.split(/ {2,}/).map((column) => column.trim());
    };
    expect(await table()).toEqual(["NAME", "CIDR", "SELECTOR", "DISABLED", "AGE"]);
    expect(await table("-o", "wide")).toEqual(expect.arrayContaining(["NAT", "IPIP", "VXLAN", "BLOCK SIZE", "USES", "ASSIGNMENT"]));
  });

  test("explains every field (needs cluster)", async () => {
    expect(await server.kubectl(["explain", "ippools.spec.blockSize"])).toContain("Prefix length of the blocks that nodes claim");
    expect(await server.kubectl(["explain", "profiles.spec.ingress.source", "--recursive"])).toContain("namespaceSelector");
  });
});
