import { describe, expect, test } from "bun:test";
import { normaliseEndpoint, splitEndpoints } from "./datastore-config.ts";

describe("normaliseEndpoint()", () => {
  test.each([
    ["10.0.0.1", "http://10.0.0.1:2379"],
    ["etcd.example:4001", "http://etcd.example:4001"],
    ["https://etcd.example/", "https://etcd.example:2379"],
    ["https://etcd.example:443", "https://etcd.example:443"],
    ["http://etcd.example:80/", "http://etcd.example:80"],
    ["http://[fd00::1]", "http://[fd00::1]:2379"],
    ["https://[fd00::1]:4001", "https://[fd00::1]:4001"],
    ["HTTPS://ETCD.example", "https://etcd.example:2379"],
  ])("makes of %p %p", (text, endpoint) => {
    expect(normaliseEndpoint(text)).toBe(endpoint);
    expect(normaliseEndpoint(endpoint)).toBe(endpoint);
  });

  test.each([
    "http://host/path",
    "http://host?x=1",
    "http://host#x",
    "http://host?",
    "http://host:80?",
    "http://host:80#",
    "https://host:443?",
    "http://host:80\\",
    "http://host:8\n0",
    "unix:///run/etcd.sock",
    "http://host:99999",
    "http://",
    "a b",
    "http://a\nb:1x",
  ])("refuses %p, and shows it", (text) => {
    expect(() => normaliseEndpoint(text)).toThrow(
      `parse etcd endpoint ${JSON.stringify(text)}: want http://host:port or https://host:port, joined by commas`,
    );
  });

  test.each(["http://user:s3cret@host", "user:s3cret@host:2379", "http://user:s3#cret@host"])(
    "refuses %p without showing the password",
    (text) => {
      expect(() => normaliseEndpoint(text)).toThrow("got one with user or password, want them in etcd_username and etcd_password");
      expect(() => normaliseEndpoint(text)).not.toThrow("s3");
    },
  );
});

describe("splitEndpoints()", () => {
  test("does not count spaces and empty entries", () => {
    expect(splitEndpoints(" a:1 ,,b:2, ")).toEqual(["a:1", "b:2"]);
    expect(splitEndpoints(" , ")).toEqual([]);
  });
});
