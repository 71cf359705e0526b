/** One run of the role, from its arguments to its exit status. */

import { NetplugError, messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { VERSION } from "../lib/version.ts";
import { parseCommandLine, USAGE } from "./settings/command-line.ts";
import type { InstallHost } from "./host.ts";
import { Installation } from "./install.ts";
import { readSettings, type Settings } from "./settings/settings.ts";
import { readNotReadyReason, StateFile } from "./state-file.ts";
import { stay } from "./stay.ts";
import { toIsoTime } from "./token-renewal.ts";
import { readPath } from "./settings/variables.ts";

const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** @returns the exit status: 0 done, or asked to end; 1 failed; 2 wrong usage */
export async function runInstallCni(args: readonly string[], host: InstallHost): Promise<number> {
  const command = parseCommandLine(args);
  if ("isHelpWanted" in command) {
    host.say(USAGE);
    return EXIT.done;
  }
  if ("isReadinessAsked" in command) return sayReadiness(host);
  if ("fault" in command) {
    host.say(`netplug install-cni: ${command.fault}; see netplug install-cni --help`);
    return EXIT.usage;
  }
  let log = host.openLog("INFO");
  try {
    const settings = readSettings(command.options, host.env);
    log = host.openLog(settings.log.level === "DEBUG" ? "DEBUG" : "INFO");
    return await install(settings, host, log);
  } catch (thrown) {
    log.error(messageOf(thrown), thrown instanceof NetplugError ? { code: thrown.code, details: thrown.details } : {});
    return EXIT.failed;
  }
}

function sayReadiness({ env, disk, say }: InstallHost): number {
  try {
    const reason = readNotReadyReason(readPath(env, "STATE_FILE"), disk);
    say(reason ?? "ready");
    return reason === undefined ? EXIT.done : EXIT.failed;
  } catch (thrown) {
    say(`netplug install-cni: ${messageOf(thrown)}`);
    return EXIT.usage;
  }
}

async function install(settings: Settings, host: InstallHost, log: Log): Promise<number> {
  using state = new StateFile(settings.stateFile, host);
  state.report("not everything is in its place yet");
  using installation = new Installation(settings, host, log);
  try {
    await installation.install();
  } catch (thrown) {
    if (!host.stopped.aborted) throw thrown;
    log.warning("asked to end before everything was in its place");
    return settings.isOnce ? EXIT.failed : await stop(installation, settings, state, log);
  }
  state.report(undefined);
  const { grant } = installation;
  const expires = grant === undefined ? undefined : toIsoTime(host.clock.now() + grant.lifeMs);
  log.info("the plugin is installed", { event: "ready", version: VERSION, expires });
  if (settings.isOnce) {
    if (grant !== undefined)
      log.warning("nobody renews the token from now on; run this again before it expires, or without --once", { expires });
    state.keepAfterExit();
    return EXIT.done;
  }
  await stay(installation, { ...settings, state }, host, log);
  return await stop(installation, settings, state, log);
}

async function stop(installation: Installation, { removesOnStop }: Settings, state: StateFile, log: Log): Promise<number> {
  const end = removesOnStop ? await installation.removeConfig() : "left";
  try {
    if (end === "removed") state.report("the installer was stopped, and took its network config away");
    if (end === "gone") state.report("the installer was stopped, and its network config is gone");
    state.keepAfterExit();
  } catch (thrown) {
    log.warning("cannot note that the installer has ended as it was asked to: it will count as dead", { reason: messageOf(thrown) });
  }
  log.info("stopped", { event: "stopped" });
  return EXIT.done;
}
