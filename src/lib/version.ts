/** The one version of everything that is built from this tree; a test holds it against package.json. */
export const VERSION = "v3.31.0";
