// A server that does nothing but refuse: how long that takes on this machine at the moment.

const refuse = () => Response.json({ code: 'busy' }, { status: 503 })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: refuse })
process.stdout.write(`listening ${server.port}\n`)
process.once('SIGTERM', () => process.exit(0))
