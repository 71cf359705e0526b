import { expect, test } from "bun:test";
import { cacheFolder } from "../repository.ts";
import { findSystemTool, systemPath } from "./system-tools.ts";

test("systemPath() adds the folders of administration once, behind the caller's own", () => {
  expect(systemPath("/opt/bin:/usr/bin")).toBe("/opt/bin:/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin");
  expect(systemPath(undefined)).toStartWith("/usr/local/sbin:");
});

test("findSystemTool() looks on PATH first and knows what is not there", () => {
  const found = findSystemTool("openssl", "/nowhere");
  expect(found === undefined || found.endsWith("/openssl")).toBe(true);
});

test("cacheFolder() is outside of the checkout, where XDG says, else in the home folder", () => {
  expect(cacheFolder({ XDG_CACHE_HOME: "/var/cache/me" })).toBe("/var/cache/me/netplug");
  expect(cacheFolder({ XDG_CACHE_HOME: "relative" })).toEndWith("/.cache/netplug");
  expect(cacheFolder({})).toEndWith("/.cache/netplug");
});
