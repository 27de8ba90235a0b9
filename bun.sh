#!/bin/sh
# Runs Bun for the scripts of package.json: the one that runs the script, or one in PATH, or else the version of package.json by npm.
# So `npm run dev` and `npm test` need Node alone.
case "${npm_execpath##*/}" in
  bun | bun.exe) exec "$npm_execpath" "$@" ;;
esac
command -v bun > /dev/null && exec bun "$@"
exec npx -y "$(node -p 'require("./package.json").packageManager')" "$@"
