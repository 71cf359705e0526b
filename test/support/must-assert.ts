/** Loaded before every test file (`bunfig.toml`): a test that has expected nothing when it ends has failed. */

import { beforeEach, expect } from "bun:test";

beforeEach(() => {
  try {
    expect.hasAssertions();
  } catch {
    // Of tests that run beside each other Bun cannot say whose an expectation was.
  }
});
