/** `completion`: scripts that ask this program what may come next. */

import { toChoice } from "../../lib/choice.ts";
import { quote } from "../../lib/quote.ts";
import { EXIT, UsageError } from "../failures/failure.ts";
import type { Cli } from "../io.ts";

/** Each gets one proposal a line, with a tab and a description behind it. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# netplugctl completion for bash: source <(netplugctl completion bash)
_netplugctl() {
    local line=\${COMP_LINE:0:COMP_POINT} words=() proposals=() current
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=\${words[-1]}
    mapfile -t proposals < <("\${COMP_WORDS[0]}" __complete "\${words[@]:1}" 2>/dev/null)
    COMPREPLY=("\${proposals[@]%%$'\\t'*}")
    # Where the shell splits a word at = or :, it wants only what comes behind.
    if [[ $current == *[=:]* && \${#COMPREPLY[@]} -gt 0 ]]; then
        COMPREPLY=("\${COMPREPLY[@]#"\${current%[=:]*}"?}")
    fi
    [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -o default -F _netplugctl netplugctl kubectl-netplug
`,
  zsh: `#compdef netplugctl kubectl-netplug
# netplugctl completion for zsh: source <(netplugctl completion zsh)
_netplugctl() {
    local -a lines proposals
    local line
    lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "\${lines[@]}"; do
        [[ -n $line ]] && proposals+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    done
    if (( \${#proposals[@]} )); then
        _describe netplugctl proposals
    else
        _files
    fi
}
if [[ \${funcstack[1]} == _netplugctl ]]; then
    _netplugctl "$@"
else
    compdef _netplugctl netplugctl kubectl-netplug
fi
`,
  fish: `# netplugctl completion for fish: netplugctl completion fish | source
function __netplugctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..-1] "$current" 2>/dev/null
end
complete -c netplugctl -a '(__netplugctl_complete)'
complete -c kubectl-netplug -a '(__netplugctl_complete)'
`,
};

/** Prints the script for a shell. */
export async function completion(cli: Cli, _flags: object, shell: string): Promise<number> {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError(`make completion for ${quote(shell)}: want ${toChoice(Object.keys(SCRIPTS))}`);
  cli.io.stdout.write(script);
  return EXIT.done;
}
