import { expect, test } from "bun:test";
import { join } from "node:path";
import { VERSION } from "./version.ts";

test("VERSION is the version in package.json", async () => {
  const manifest = (await Bun.file(join(import.meta.dir, "../../package.json")).json()) as { readonly version: string };
  expect(VERSION).toBe(`v${manifest.version}`);
});
