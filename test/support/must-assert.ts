/** Loaded before every test file (`bunfig.toml`): a test that has expected nothing when it ends has failed. */

import { beforeEach, expect } from "bun:test";

beforeEach(() => {
  try {
    expect.hasAssertions();
  } catch {
    // When tests run beside each other, Bun cannot tell which of them an expectation belongs to.
  }
});
