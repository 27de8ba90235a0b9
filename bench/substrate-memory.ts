// The memory of the API process while it signs for both Substrate networks, by their real metadata, which is larger
// than that of local chains. Nodes are small servers that tell a head and this metadata.

import { readFileSync } from 'node:fs'
import type { Runtime } from '../src/chains/substrate/runtime.ts'
import { type SubstrateNetwork, substrateNetworkRow } from '../src/platform/networks.ts'
import { startStateNode } from '../test/chains/substrate/gear-node.ts'
import { assetHubRuntime, varaRuntime } from '../test/chains/substrate/metadata.ts'
import { startService } from '../test/support/service.ts'
import { headersOf, load } from './load.ts'
import { start } from './processes.ts'

const SECONDS = 24
const AT_ONCE = 32

/** The memory of a process, now or at the most so far. */
export const memoryMiB = (pid: number, field: 'VmRSS' | 'VmHWM'): number => {
  const [, kilobytes = '0'] =
    new RegExp(`${field}:\\s+([0-9]+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

export type SubstrateMemory = { readonly residentMiB: number; readonly peakMiB: number; readonly signatures: number }

const nodeOf = (network: SubstrateNetwork, runtime: Runtime) => {
  const { genesisHash } = substrateNetworkRow({ network, environment: 'testnet', devnet: true })
  return startStateNode({ runtime, genesisHash })
}

/** null where VARA_METADATA names no file. */
export const benchSubstrateMemory = async (): Promise<SubstrateMemory | null> => {
  const vara = varaRuntime()
  if (vara === null) return null
  const nodes = [nodeOf('Polkadot', assetHubRuntime()), nodeOf('Vara', vara)] as const
  const service = await startService({ rpcUrls: { Polkadot: nodes[0].rpcUrl, Vara: nodes[1].rpcUrl } })
  const api = await start({
    file: 'src/main/api.ts',
    variables: { ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
    until: /"url":"http:\/\/127\.0\.0\.1:([0-9]+)"/,
  })
  try {
    const wallets = [await service.newWallet({ network: 'Polkadot' }), await service.newWallet({ network: 'Vara' })]
    const bodyOf = (nonce: number) => {
      const { network, address } = wallets[nonce % 2] ?? {}
      const unsigned = { to: address, value: '1000000000000', nonce: String(nonce) }
      const signer = { network, signer_wallet_address: address, developer_secret: 'testnet-secret' }
      return JSON.stringify({ ...signer, unsigned_transaction: unsigned })
    }
    const { requests } = await load({
      url: `http://127.0.0.1:${api.match[1]}/transactions/sign`,
      request: (nonce) => ({ method: 'POST', headers: headersOf(service), body: bodyOf(nonce) }),
      atOnce: AT_ONCE,
      seconds: SECONDS,
    })
    const [residentMiB, peakMiB] = [memoryMiB(api.pid, 'VmRSS'), memoryMiB(api.pid, 'VmHWM')]
    return { residentMiB, peakMiB, signatures: requests }
  } finally {
    await api.stop()
    await service.close()
    for (const node of nodes) node.stop()
  }
}

export const substrateMemoryLine = (memory: SubstrateMemory | null): string =>
  memory === null
    ? '  memory with the real metadata of both: not measured, as VARA_METADATA names no file'
    : `  memory with the real metadata of both, ${memory.signatures} signatures: ${memory.residentMiB.toFixed(0)} MiB, ${memory.peakMiB.toFixed(0)} MiB at the most (aim: 300 MB, 286 MiB)`
