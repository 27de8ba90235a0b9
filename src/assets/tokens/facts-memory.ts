// The stored facts of contracts. APIs and workers write them, and an attacker with the database can, too. Facts that an
// API read and had confirmed have a MAC (src/identity/auth/row-macs.ts), so that APIs recognise them. Other facts are
// shown, but no signature relies on them.

import type { Db } from '../../../db/client.ts'
import { readFacts, writeFacts } from '../../../db/queries/facts.ts'
import type { AddressFacts, ChainMemory } from '../../chains/chain.ts'
import { contractFactsMac } from '../../identity/auth/row-macs.ts'
import { createBoundedMap } from '../../platform/bounded-map.ts'
import type { Log } from '../../platform/process/log.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'

/** A contract about which nodes disagree is logged once in this time, however often it is asked for. */
const SILENCE_MS = 3_600_000
const DISPUTES_MAX = 1_000

/** Writes a warning for the operator: while nodes disagree, all that needs the contract's facts is refused. */
export const createDisputeNotes = ({ log }: { readonly log: Pick<Log, 'warn'> }): ChainMemory['noteDispute'] => {
  const logged = createBoundedMap<true>({ max: DISPUTES_MAX, lifetimeMs: SILENCE_MS })
  return ({ network, address, said }) => {
    const key = `${network} ${address}`
    if (logged.get(key) !== undefined) return
    logged.set(key, true)
    log.warn({ network, contract: address, said }, 'the nodes disagree about the facts of a contract')
  }
}

/** @param input.identity null in a process without IDENTITY_KEY: no facts are its own. */
export const createFactsMemory = (input: {
  readonly db: Db
  readonly identity: Pick<Sealer, 'authenticator' | 'verifier'> | null
}): Pick<ChainMemory, 'readFacts' | 'writeFacts'> => {
  const { db, identity } = input
  const mac = identity && contractFactsMac(identity)
  return {
    readFacts: async (asked) =>
      new Map(
        (await readFacts(db, asked)).map(({ isDoubtful, ...row }) => {
          const { address, standard, name, symbol, decimals } = row
          const isOwn = mac?.holds(row) ?? false
          return [address, { isContract: true, standard, name, symbol, decimals, isDoubtful, isOwn }]
        }),
      ),
    writeFacts: async ({ network, sure, unsure }) => {
      const rowOf = ([address, { standard, name, symbol, decimals }]: readonly [string, AddressFacts]) => {
        return { network, address, standard, name, symbol, decimals }
      }
      await writeFacts(db, [
        ...[...sure].map(rowOf).map((row) => ({ ...row, mac: mac?.of(row) ?? null })),
        ...[...unsure].map(rowOf).map((row) => ({ ...row, mac: null })),
      ])
    },
  }
}
