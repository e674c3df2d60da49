/** Code that is loaded when it is needed, so that the page's own script stays small. `web/build.ts` bundles each file of `later/` apart. */

/** Their addresses, by name; written into the script when it is bundled. */
declare const LATER_FILES: Readonly<Record<'qr', string>>

export function loadQr(): Promise<typeof import('./later/qr.ts')> {
  return import(LATER_FILES.qr)
}
