// The process of one local Substrate chain. Its one argument is `ChopsticksOptions` as JSON; it says on what port it
// listens, and ends with SIGTERM. All that it has built is in the archive by then.

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
  // An orderly exit waits for the thread that runs the runtime, most of a second; there is nothing left to do in it.
  process.kill(process.pid, 'SIGKILL')
})

const manners = { instant: options.instant ?? true, finalityLagBlocks: options.finalityLagBlocks ?? 0 }
const methods = createMethods(local, manners)
/** The genesis is no block of the runtime's yet: it would take no extrinsic there. Requests wait for the first one. */
const begun = local.chain.head.number === 0 ? local.newBlock() : Promise.resolve()
const server = serveMethods(async (request, subscriptions) => {
  await begun
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
