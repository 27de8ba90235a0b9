// The process of a local Substrate chain. Its only argument is `ChopsticksOptions` as JSON. It prints its port, and ends with
// SIGTERM; the archive then has all of its blocks.

import { SUBSTRATE_NETWORKS } from '../src/chains/networks.ts'
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
const local = await openLocalChain(options)
process.on('SIGTERM', () => {
  local.close()
  // Exit at once: an orderly exit would wait almost a second for the runtime's thread, which has nothing left to do.
  process.kill(process.pid, 'SIGKILL')
})

const manners = { instant: options.instant ?? true, finalityLagBlocks: options.finalityLagBlocks ?? 0 }
const methods = createMethods(local, manners)
// The runtime accepts no extrinsic on the genesis. Built before the port is printed: whoever starts this waits for as long as it
// works, but a client's question has a time limit, which the first block takes longer than on a slow machine.
if (local.chain.head.number === 0) await local.newBlock()
const server = serveMethods(async (request, subscriptions) => {
  if (request.method !== 'dev_dropConnections') return methods(request, subscriptions)
  server.dropConnections()
  return null
}, options.port ?? 0)
console.log(`Listening on 127.0.0.1:${server.port}`)

if (options.blockTimeSeconds !== undefined) {
  let busy = false
  setInterval(() => {
    if (busy) return
    busy = true
    void local
      .newBlock()
      .catch((error) => console.error('No block was built:', error))
      .finally(() => {
        busy = false
      })
  }, options.blockTimeSeconds * 1000)
}
