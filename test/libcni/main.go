// Command libcni-driver calls CNI plugins through libcni, as container runtimes do, and prints what came back as JSON:
// {"result": …} or {"error": {"code", "msg", "details"}}. The network config is read from standard input; it may be a
// conflist or the config of one plugin.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
)

type options struct {
	verb         string
	path         string
	cache        string
	container    string
	netns        string
	ifname       string
	args         string
	capabilities string
	valid        string
}

func main() {
	var o options
	flag.StringVar(&o.verb, "verb", "", "add, del, check, status, gc or validate")
	flag.StringVar(&o.path, "path", "", "folders with plugins, separated by colons")
	flag.StringVar(&o.cache, "cache", "", "folder for libcni's cache of results")
	flag.StringVar(&o.container, "container", "", "container ID")
	flag.StringVar(&o.netns, "netns", "", "path of the network namespace")
	flag.StringVar(&o.ifname, "ifname", "eth0", "interface name")
	flag.StringVar(&o.args, "args", "", "CNI_ARGS as K=V;K=V")
	flag.StringVar(&o.capabilities, "capabilities", "", "capability arguments as JSON object")
	flag.StringVar(&o.valid, "valid", "[]", "gc: valid attachments as JSON list of {containerID, ifname}")
	flag.Parse()
	result, err := run(o)
	if err != nil {
		print(map[string]any{"error": toError(err)})
		os.Exit(1)
	}
	print(map[string]any{"result": result})
}

func run(o options) (any, error) {
	list, err := readConfig()
	if err != nil {
		return nil, err
	}
	cni := libcni.NewCNIConfigWithCacheDir(strings.Split(o.path, ":"), o.cache, nil)
	rt := &libcni.RuntimeConf{ContainerID: o.container, NetNS: o.netns, IfName: o.ifname, Args: splitArgs(o.args)}
	if o.capabilities != "" {
		if err := json.Unmarshal([]byte(o.capabilities), &rt.CapabilityArgs); err != nil {
			return nil, fmt.Errorf("read -capabilities: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	switch o.verb {
	case "add":
		return cni.AddNetworkList(ctx, list, rt)
	case "del":
		return nil, cni.DelNetworkList(ctx, list, rt)
	case "check":
		return nil, cni.CheckNetworkList(ctx, list, rt)
	case "status":
		return nil, cni.GetStatusNetworkList(ctx, list)
	case "gc":
		var valid []types.GCAttachment
		if err := json.Unmarshal([]byte(o.valid), &valid); err != nil {
			return nil, fmt.Errorf("read -valid: %w", err)
		}
		return nil, cni.GCNetworkList(ctx, list, &libcni.GCArgs{ValidAttachments: valid})
	case "validate":
		return cni.ValidateNetworkList(ctx, list)
	default:
		return nil, fmt.Errorf("unknown verb %q", o.verb)
	}
}

func readConfig() (*libcni.NetworkConfigList, error) {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	var probe struct {
		Plugins []json.RawMessage `json:"plugins"`
	}
	if err := json.Unmarshal(text, &probe); err != nil {
		return nil, err
	}
	if probe.Plugins != nil {
		return libcni.NetworkConfFromBytes(text)
	}
	conf, err := libcni.ConfFromBytes(text)
	if err != nil {
		return nil, err
	}
	return libcni.ConfListFromConf(conf)
}

func splitArgs(text string) [][2]string {
	var pairs [][2]string
	for _, piece := range strings.Split(text, ";") {
		if key, value, found := strings.Cut(piece, "="); found {
			pairs = append(pairs, [2]string{key, value})
		}
	}
	return pairs
}

func toError(err error) map[string]any {
	var typed *types.Error
	if errors.As(err, &typed) {
		return map[string]any{"code": typed.Code, "msg": typed.Msg, "details": typed.Details}
	}
	return map[string]any{"msg": err.Error()}
}

func print(value any) {
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(value); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
