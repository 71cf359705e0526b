import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../test/support/seed.ts";
import { toEndpointName } from "../../../endpoint/names.ts";
import { parseEndpointName, toPodEndpointName } from "./endpoint-name.ts";

const dnsName = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?$/);
const ifName = fc.stringMatching(/^[-a-zA-Z0-9_.]{0,14}[a-zA-Z0-9_.]$/);

test("a name is the one that endpoint/ gives, and its parts are read back", () => {
  fc.assert(
    fc.property(dnsName, dnsName, ifName, (node, pod, name) => {
      const text = toPodEndpointName({ node, pod, ifName: name });
      expect(text).toBe(toEndpointName(node, { containerID: "c", ifName: name, pod: { namespace: "x", name: pod } }));
      expect(parseEndpointName(text)).toEqual({ node, pod, ifName: name });
    }),
    { seed: testSeed() },
  );
});

test("a workload that is no pod has no such name", () => {
  expect(parseEndpointName(toEndpointName("n-1", { containerID: "c-1", ifName: "eth0", pod: undefined }))).toBeUndefined();
  for (const name of ["", "web", "n1-k8s-web", "n1-k8s-web-eth0-x"]) expect(parseEndpointName(name)).toBeUndefined();
});
