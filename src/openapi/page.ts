import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The viewer's files come from our own dependencies: people type keys into this page, so it loads nothing from elsewhere. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
}

export const ASSET_NAMES = Object.keys(ASSETS)

/** @param name one of ASSET_NAMES. @returns null for any other. */
export const viewerAsset = async (
  name: string,
): Promise<{ readonly type: string; readonly bytes: Uint8Array } | null> => {
  const type = ASSETS[name]
  if (type === undefined) return null
  const bytes = await readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))
  return { type, bytes }
}

export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'sha256-SCRIPT_DIGEST'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

export const SCRIPT = `
window.ui = SwaggerUIBundle({
  url: '/openapi/json',
  dom_id: '#viewer',
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Strongroom API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/openapi/swagger-ui.css">
  </head>
  <body>
    <main id="viewer"></main>
    <script src="/openapi/swagger-ui-bundle.js"></script>
    <script>${SCRIPT}</script>
  </body>
</html>
`
