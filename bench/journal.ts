// What a journal costs: the same signatures by a vault's process without one, and by one that syncs each to a file, in
// turns.

import { dirname, join } from 'node:path'
import { connectVault } from '../src/vault/client/remote-vault.ts'
import type { Service } from '../test/support/service.ts'
import { type LoadResult, median, middle, repeat } from './load.ts'
import { start } from './processes.ts'
import { measureCpu } from './usage.ts'
import { newWallets, signOne } from './vault.ts'

const SECONDS = 1
const ROUNDS = 8
const WARM_ROUNDS = 3

const WAYS = ['no journal', 'a journal'] as const
type Way = (typeof WAYS)[number]
const AT_ONCE = [1, 32] as const

type Cost = LoadResult & { readonly vaultCpuMs: number }

export type JournalBench = readonly { readonly way: Way; readonly atOnce: number; readonly cost: Cost }[]

const startWay = async (service: Service, way: Way) => {
  const folder = dirname(service.variables.VAULT_SOCKET ?? '')
  const socket = join(folder, `${way.replace(' ', '-')}.socket`)
  const journal = way === 'a journal' ? { VAULT_JOURNAL: join(folder, 'bench.journal') } : {}
  const variables = { ...service.vaultVariables, VAULT_SOCKET: socket, LOG_LEVEL: 'info', ...journal }
  const process = await start({ file: 'src/main/vault.ts', variables, until: /"msg":"listening"/ })
  const vault = connectVault({ sockets: [socket], name: 'bench', onChange: () => {} })
  return { vault, process }
}

/** Signatures with a developer secret over the socket, with and without a journal. */
export const benchJournal = async (service: Service): Promise<JournalBench> => {
  const wallets = await newWallets(service)
  const started = await Promise.all(WAYS.map(async (way) => ({ way, ...(await startWay(service, way)) })))
  const measured = started.flatMap((each) => AT_ONCE.map((atOnce) => ({ ...each, atOnce, costs: [] as Cost[] })))
  try {
    for (let round = 0; round < WARM_ROUNDS + ROUNDS; round += 1) {
      for (const { vault, process, atOnce, costs } of round % 2 === 0 ? measured : measured.toReversed()) {
        const work = (index: number) => {
          const wallet = wallets[index % wallets.length]
          if (wallet === undefined) throw new Error('expected wallets')
          return signOne(vault, wallet, index)
        }
        const { cpuMs, result } = await measureCpu({ vault: process.pid }, () =>
          repeat({ work, atOnce, seconds: SECONDS }),
        )
        if (round >= WARM_ROUNDS) costs.push({ ...result, vaultCpuMs: cpuMs.vault / result.requests })
      }
    }
  } finally {
    for (const { vault, process } of started) {
      vault.close()
      await process.stop()
    }
  }
  return measured.map(({ way, atOnce, costs }) => ({
    way,
    atOnce,
    cost: { ...middle(costs), vaultCpuMs: median(costs.map(({ vaultCpuMs }) => vaultCpuMs)) },
  }))
}

export const journalTable = (measured: JournalBench): readonly string[] => [
  '\nSignatures of a vault with                  per second   p50 ms   p99 ms   CPU ms of the vault',
  ...measured.map(({ way, atOnce, cost: { perSecond, p50Ms, p99Ms, vaultCpuMs } }) => {
    const figures = [perSecond.toFixed(0).padStart(12), p50Ms.toFixed(2).padStart(9), p99Ms.toFixed(2).padStart(9)]
    return `  ${way.padEnd(20)} ${`${atOnce} at once`.padEnd(20)}${figures.join('')}${vaultCpuMs.toFixed(3).padStart(22)}`
  }),
]
