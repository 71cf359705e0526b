/** For tests: property tests begin from a printed seed that can be given again. */

/** `TEST_SEED` of the environment, else a new one; printed, so that a failure can be repeated. */
export function testSeed(): number {
  const given = process.env["TEST_SEED"];
  const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given);
  console.error(`TEST_SEED=${seed}`);
  return seed;
}
