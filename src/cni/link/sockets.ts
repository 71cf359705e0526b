/** An ADD's or CHECK's sockets into both namespaces of a link. */

import type { LinkNames } from "../../endpoint/pod-link.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { IFALIAS_MAX } from "../../linux/netlink/constants.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import type { Netns } from "../../linux/netns.ts";
import type { Kernel } from "./kernel.ts";

/** Open sockets. They do not own `netns`. */
export interface LinkSockets extends Disposable {
  readonly kernel: Kernel;
  readonly names: LinkNames;
  readonly netns: Netns;
  readonly host: RouteSocket;
  readonly pod: RouteSocket;
}

/** Opens what `findExisting`, `createLink` and `inspectLink` work with. Changes nothing. @throws {NetplugError} */
export function openLinkSockets(kernel: Kernel, netns: Netns, names: LinkNames): LinkSockets {
  const aliasBytes = Buffer.byteLength(names.alias);
  if (aliasBytes > IFALIAS_MAX) {
    throw new NetplugError(
      "invalidConfig",
      `name interface ${quote(names.hostName)}: its alias takes ${aliasBytes} bytes, want ${IFALIAS_MAX} or less; use a shorter network name`,
    );
  }
  using opened = new DisposableStack();
  const host = opened.use(kernel.openRouteSocket());
  const pod = opened.use(kernel.openRouteSocket(netns));
  const both = opened.move();
  return { kernel, names, netns, host, pod, [Symbol.dispose]: () => both.dispose() };
}
