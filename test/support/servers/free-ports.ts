/** For tests: ports for servers that may have to be started again on the same ones. */

/** Below those that the kernel gives to clients, so that no connection takes one between two starts of a server. */
const PORTS = { first: 10_000, count: 22_000 } as const;
/** Each worker of the test runner has a part of them: a port whose server is to start again is taken by no other meanwhile. */
const PORTS_OF_A_WORKER = 2_000;
const firstPort = PORTS.first + ((Number(process.env["BUN_TEST_WORKER_ID"] ?? 0) * PORTS_OF_A_WORKER) % PORTS.count);
let lastPort = Math.floor(Math.random() * PORTS_OF_A_WORKER);

/** Ports that nobody listened on a moment ago; none is given twice by one process. */
export function freePorts(count: number): readonly number[] {
  const ports: number[] = [];
  while (ports.length < count) {
    lastPort = (lastPort + 1) % PORTS_OF_A_WORKER;
    const port = firstPort + lastPort;
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      ports.push(port);
    } catch {
      // Somebody listens there.
    }
  }
  return ports;
}
