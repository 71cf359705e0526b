/** The one version of everything that is built from this tree; `npm run check` holds it against package.json. */
export const VERSION = "v3.31.0";
