/** The viewer's files, with their types. They come from our own dependencies: people type keys into this page, so it loads nothing from elsewhere. */
export const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
}

export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self' 'sha256-SCRIPT_DIGEST'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

export const SCRIPT = `
window.ui = SwaggerUIBundle({
  url: '/openapi/json',
  dom_id: '#viewer',
  deepLinking: true,
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
