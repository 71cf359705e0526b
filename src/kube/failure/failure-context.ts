/** Whose request failed, and what would help: for messages. */
export interface FailureContext {
  /** Whose credentials they are: `token of user "x" in kubeconfig "/y"`. */
  readonly identity: string;
  /** Whom they ask to act as. */
  readonly actsAs?: string | undefined;
  /** The role that permits what this client does. */
  readonly role: string | undefined;
  /** What to do about credentials that are not accepted. */
  readonly renewal?: string | undefined;
}
