import { expect, test } from "bun:test";
import fc from "fast-check";
import { nearestName } from "./nearest.ts";
import { testSeed } from "../../test/support/seed.ts";

const KEYS = ["log_level", "mtu", "num_queues", "ipam", "etcd_endpoints", "IP", "k8s_api_root"];

test.each([
  ["Log_Level", "log_level"],
  ["log_leve", "log_level"],
  ["log_levels", "log_level"],
  ["log-level", "log_level"],
  ["log_lveel", "log_level"],
  ["MUT", "mtu"],
  ["Etcd_endpoint", "etcd_endpoints"],
  ["ip", "IP"],
  ["K8sApiRoot", "k8s_api_root"],
  ["k8s-api-root", "k8s_api_root"],
  ["K8SAPIROOT", "k8s_api_root"],
])("%p was meant to be %p", (word, meant) => expect(nearestName(word, KEYS)).toBe(meant));

test.each(["log_level", "mtu", "loglevels", "log_lev", "log_leevl_", "Ix", "", "prevResult", "k8s_api_to_or", "k8sApiRoots", "_", "--"])(
  "%p is near to nothing, or known",
  (word) => expect(nearestName(word, KEYS)).toBeUndefined(),
);

test("a name in another case is nearer than one with another letter", () => {
  expect(nearestName("IPAM", ["ipams", "ipam"])).toBe("ipam");
});

test("agrees with trying every single edit", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(word, word, (typed, known) => {
      fc.pre(known.length > 2 && typed !== known);
      expect(nearestName(typed, [known]) === known).toBe(editsOf(known).has(typed));
    }),
    { seed: testSeed(), numRuns: 5_000 },
  );
});

function editsOf(word: string): ReadonlySet<string> {
  const edits = new Set<string>();
  for (let i = 0; i <= word.length; i++) {
    for (const letter of "abc") {
      edits.add(word.slice(0, i) + letter + word.slice(i));
      if (i < word.length) edits.add(word.slice(0, i) + letter + word.slice(i + 1));
    }
    if (i < word.length) edits.add(word.slice(0, i) + word.slice(i + 1));
    if (i + 1 < word.length) edits.add(word.slice(0, i) + word[i + 1] + word[i] + word.slice(i + 2));
  }
  return edits;
}
