// The process of a local Substrate chain. Its only argument is `ChopsticksOptions` as JSON. It prints its port, and
// ends with SIGTERM; the archive then has all of its blocks.

import { SUBSTRATE_NETWORKS } from '../src/platform/networks.ts'
import type { ChopsticksOptions } from './chopsticks.ts'
import { openLocalChain } from './chopsticks-chain.ts'
import { createMethods } from './chopsticks-methods.ts'
import { serveMethods } from './chopsticks-server.ts'

const readOptions = (): ChopsticksOptions => {
  const options = JSON.parse(process.argv[2] ?? '{}')
  if (!SUBSTRATE_NETWORKS.includes(options.network)) throw new Error('The first argument must be the options as JSON.')
  return options
}

const options = readOptions()

const open = async () => {
  const local = await openLocalChain(options)
  const manners = { instant: options.instant ?? true, finalityLagBlocks: options.finalityLagBlocks ?? 0 }
  // The runtime accepts no extrinsic on the genesis. Built before the port is printed: whoever starts this waits for as
  // long as it works, but a client's question has a time limit, which the first block takes longer than on a slow
  // machine.
  if (local.chain.head.number === 0) await local.newBlock()
  return { local, methods: createMethods(local, manners) }
}

let opened: ReturnType<typeof open> | null = null
const chain = () => {
  opened ??= open()
  return opened
}
await chain()
process.on('SIGTERM', async () => {
  if (opened !== null) (await opened).local.close()
  // Exit at once: an orderly exit would wait almost a second for the runtime's thread, which has nothing left to do.
  process.kill(process.pid, 'SIGKILL')
})

const serve = (port: number) =>
  serveMethods(async (request, subscriptions) => {
    const own = ofProcess[request.method]
    return own === undefined ? (await chain()).methods(request, subscriptions) : own()
  }, port)

let server = serve(options.port ?? 0)
const left: (typeof server)[] = []

/** The methods that concern more than the chain. */
const ofProcess: Readonly<Record<string, () => Promise<unknown> | unknown>> = {
  dev_dropConnections: () => server.dropConnections(),
  // Serves at another port too, which is the answer.
  dev_move: () => {
    left.push(server)
    server = serve(0)
    return server.port
  },
  // Stops serving at the ports before, and forgets the chain: the next question gets the first block of a new one. A
  // chain that is not kept begins so in a quarter of the time of a process.
  dev_startOver: async () => {
    for (const each of left.splice(0)) each.stop()
    if (opened !== null) (await opened).local.close()
    opened = null
  },
}
console.log(`Listening on 127.0.0.1:${server.port}`)

if (options.blockTimeSeconds !== undefined) {
  let busy = false
  setInterval(() => {
    if (busy) return
    busy = true
    void chain()
      .then(({ local }) => local.newBlock())
      .catch((error) => console.error('No block was built:', error))
      .finally(() => {
        busy = false
      })
  }, options.blockTimeSeconds * 1000)
}
