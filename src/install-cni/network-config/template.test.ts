import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { checkNetworkConfig, fillTemplate } from "./template.ts";

const seed = testSeed();
const VALUES = { LOG_LEVEL: "INFO", CNI_MTU: "1450", ETCD_ENDPOINTS: "http://a:1,http://b:1", KUBECONFIG_FILEPATH: "/etc/k", EMPTY: "" };
const fill = (text: string): string => fillTemplate(text, VALUES, "the template");

describe("placeholders", () => {
  test.each([
    ['{"log_level": "__LOG_LEVEL__"}', '{"log_level": "INFO"}'],
    ['{"mtu": __CNI_MTU__}', '{"mtu": 1450}'],
    ['{"a": "x__CNI_MTU__y__CNI_MTU__"}', '{"a": "x1450y1450"}'],
    ['{"a": "__EMPTY__"}', '{"a": ""}'],
    ['{"a": "__init__", "b": "__", "c": "____", "d": "__a_B__"}', '{"a": "__init__", "b": "__", "c": "____", "d": "__a_B__"}'],
  ])("%s becomes %s", (text, expected) => expect(fill(text)).toBe(expected));

  test.each([
    ["__LOG_LEVL__", "fill in the template: __LOG_LEVL__ is no placeholder; was __LOG_LEVEL__ meant?"],
    ["__CALICO_THING__", "__CALICO_THING__ is no placeholder; see docs/install.md for those that there are"],
    ["__SERVICEACCOUNT_TOKEN__", "would not be renewed; use __KUBECONFIG_FILEPATH__"],
    ["__HASOWNPROPERTY__", "is no placeholder"],
  ])("%s is refused", (text, message) => expect(() => fill(`{"a": "${text}"}`)).toThrow(message));

  test("whatever a value holds, it stays inside the text that it was put into", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        const filled = fillTemplate('{"a": "__V__", "b": 1}', { V: value }, "t");
        expect(JSON.parse(filled)).toEqual({ a: value, b: 1 });
      }),
      { seed },
    );
  });

  test("a value that looks like a placeholder is not filled in again", () => {
    expect(fillTemplate('"__A__"', { A: "__B__", B: "x" }, "t")).toBe('"__B__"');
  });
});

describe("what a runtime takes for a network config", () => {
  const plugins = [{ type: "netplug" }, { type: "portmap" }];
  test.each<[document: unknown, fileName: string]>([
    [{ name: "pods", plugins }, "10.conflist"],
    [{ name: "pods", plugins, disableCheck: true, disableGC: "True", loadOnlyInlinedPlugins: false }, "10.conflist"],
    [{ name: "pods", plugins, DisableGC: 1, CNIVersion: 2 }, "10.conflist"], // of a list libcni reads its own spelling only
    [{ name: "pods", plugins: [{ type: "bridge", IPAM: { Type: "host-local" }, DNS: null }] }, "10.conflist"],
    [{ name: "pods", plugins: [{ type: "bridge", ipam: { type: "netplug-ipam" }, DNS: {}, Capabilities: { mac: true } }] }, "10.conflist"],
    [{ name: "pods", type: "netplug", CNIVersion: "1.0.0", Name: "pods", PrevResult: null }, "10.conf"], // a runtime adds these in their own spelling
    [{ name: "pods", type: "netplug" }, "10.conf"],
    [{ name: "pods", type: "netplug" }, "10.json"],
  ])("%j as %s", (document, fileName) => expect(() => checkNetworkConfig(JSON.stringify(document), fileName, "it")).not.toThrow());

  test.each<[text: string, fileName: string, message: string]>([
    ["", "10.conflist", "read it: "],
    ['{"name": "s3cret', "10.conflist", "read it: line 1, column"],
    ["[]", "10.conflist", "read it: got an empty list, want a JSON object"],
    ['{"plugins": []}', "10.conflist", 'read it: "name": got nothing'],
    ['{"name": "a b", "plugins": []}', "10.conflist", '"name": got "a b"'],
    ['{"name": "a", "type": "netplug"}', "10.conflist", '"plugins": got nothing, want a list of plugins'],
    ['{"name": "a", "plugins": []}', "10.conflist", '"plugins": got an empty list'],
    ['{"name": "a", "plugins": [{"type": "x"}, {}]}', "10.conflist", '"plugins[1].type": got nothing, want the name of a plugin'],
    ['{"name": "a", "plugins": [{"type": "x"}]}', "10.conf", '"10.conf" is no name for one: want .conflist; set CNI_CONF_NAME'],
    ['{"name": "a", "type": "netplug"}', "10.conflist", 'not read from "10.conflist"; make it a list, or set CNI_CONF_NAME'],
    ['{"name": "a", "plugins": [{"type": ""}]}', "10.conflist", '"plugins[0].type": got "", want the name of a plugin'],
    ['{"name": "a", "plugins": [{"type": "x"}], "disableGC": "yes"}', "10.conflist", '"disableGC": got "yes", want true or false'],
    ['{"name": "a", "plugins": [{"type": "x"}], "disableCheck": 1}', "10.conflist", '"disableCheck": got 1, want true or false'],
    ['{"name": "a", "plugins": [{"type": "x"}], "disableGC": [true]}', "10.conflist", '"disableGC": got a list, want true or false'],
    ['{"name": "a", "plugins": [{"type": "x"}], "disableGC": null}', "10.conflist", '"disableGC": got null, want true or false'],
    [
      '{"name": "a", "plugins": [{"type": "x"}], "cniVersion": 1.1}',
      "10.conflist",
      '"cniVersion": got 1.1, want a version such as "1.1.0"',
    ],
    ['{"name": "a", "plugins": [{"type": "x"}], "cniVersion": "v1.1"}', "10.conflist", '"cniVersion": got "v1.1", want a version'],
    [
      '{"name": "a", "plugins": [{"type": "x"}], "cniVersions": ["a"]}',
      "10.conflist",
      '"cniVersions": got a list, want a list of versions',
    ],
    ['{"name": "a", "plugins": [{"type": "x"}, {"type": "y", "ipam": "z"}]}', "10.conflist", '"plugins[1].ipam": got "z", want an object'],
    [
      '{"name": "a", "plugins": [{"type": "x", "IPAM": "z"}]}',
      "10.conflist",
      '"plugins[0].IPAM": got "z", want an object whose "type" is a text',
    ],
    [
      '{"name": "a", "plugins": [{"type": "x", "ipam": {"Type": 1}}]}',
      "10.conflist",
      '"plugins[0].ipam": got an object, want an object whose',
    ],
    ['{"name": "a", "type": "x", "Dns": {"DOMAIN": []}}', "10.conf", '"Dns": got an object, want an object with lists of texts'],
    ['{"name": "a", "type": "x", "TYPE": 1}', "10.conf", '"TYPE": got 1, want a text'],
    ['{"name": "a", "type": "x", "TYPE": "netplug"}', "10.conf", '"TYPE": got "netplug", want the spelling "type"'],
    [
      '{"name": "a", "plugins": [{"type": "netplug", "IPAM": {"type": "host-local"}}]}',
      "10.conflist",
      '"plugins[0].IPAM": got an object, want the spelling "ipam"',
    ],
    ['{"name": "a", "type": "bridge", "Ipam": {"type": "netplug-ipam"}}', "10.conf", '"Ipam": got an object, want the spelling "ipam"'],
    [
      '{"name": "a", "type": "x", "capabilities": {"ips": "true"}}',
      "10.conf",
      '"capabilities": got an object, want an object with true or false for each capability',
    ],
    ['{"name": "a", "type": "x", "dns": {"nameservers": "a"}}', "10.conf", 'want an object with lists of texts as "nameservers", "search"'],
    ['{"name": "a", "type": "x", "cniVersion": 1.1}', "10.conf", '"cniVersion": got 1.1, want a text'],
    ['{"name": "a"}', "10.conf", '"type": got nothing'],
    ['{"name": "a", "type": ""}', "10.conf", '"type": got "", want the name of a plugin'],
    ['{"name": "a", "type": ["x"]}', "10.conf", '"type": got a list'],
  ])("%s as %s is refused", (text, fileName, message) => {
    const check = (): void => checkNetworkConfig(text, fileName, "it");
    expect(check).toThrow(message);
    // It may hold a password.
    expect(check).not.toThrow("s3cret");
  });
});
