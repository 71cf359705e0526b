/** The schema of blocks as the Kubernetes API keeps them. Nobody writes one by hand; what is in `allocations` its codec checks. */

import * as v from "valibot";
import { cidr, looseName, text } from "./fields.ts";

/** For the CRD only: nothing validates a block with it. */
export const ipamBlockSpec = v.object({ cidr, node: looseName, allocations: text });
