// What the process with the root key opens at its start: src/main/vault.ts, and tests that have a vault in their own
// process.

import { clearInterval, setInterval } from 'node:timers'
import type { ReadingCtx } from '../operators/ctx.ts'
import { type Audit, createVaultAudit } from '../platform/audit/audit.ts'
import type { Process } from '../platform/config.ts'
import { bindingsOf } from '../platform/deployment.ts'
import type { OperatorVault } from '../vault/contract/vault.ts'
import {
  bindDeployment,
  createVault,
  type DeploymentKey,
  openJournal,
  openRootKey,
  withoutJournal,
} from '../vault/rooms/vault.ts'
import { openChecked } from './keyed-contexts.ts'

const CATALOGUE_MS = 60_000

type VaultCtx = ReadingCtx & {
  readonly vault: OperatorVault
  readonly audit: Audit
  readonly deploymentKey: DeploymentKey
  /** Writes the refusals that are only counted so far. */
  readonly flushRefusals: () => Promise<void>
  /** Looks whether the catalogue of the database is right, as the vault does by itself every minute. */
  readonly lookAtCatalogue: () => Promise<void>
}

type Opening = Process & {
  readonly log: Readonly<Record<'error', (facts: object, sentence: string) => void>>
  /** Called when the journal cannot be written any more: then the process must end. */
  readonly onJournalLost: (error: unknown) => void
}

/**
 * Opens the root key and the database, which the first vault binds to its keys, its environment and its networks.
 * @throws Error if they belong to another database.
 */
export const openVault = async (input: Opening): Promise<VaultCtx> => {
  const { config, log, onJournalLost: onLost } = input
  if (config.rootKey === null) throw new Error('ROOT_KEY must say where the root key is: file:/path or fd:N.')
  const rootKey = await openRootKey(config.rootKey)
  const nextRootKey = config.nextRootKey && (await openRootKey(config.nextRootKey))
  const { environment } = config
  const { checked: deploymentKey, ...base } = await openChecked(input, (db) =>
    bindDeployment({ db, environment, networks: bindingsOf(config), rootKey, nextRootKey }),
  )
  const chainOf = (network: string) => {
    const row = config.networks.find((each) => each.network === network)
    if (row === undefined) throw new Error(`this vault does not know the network ${network}`)
    return row
  }
  const ctx = { ...base, deploymentKey, audit: createVaultAudit({ ...base, deploymentKey }) }
  const paths = config.vaultJournals
  const key = deploymentKey.derive('journal')
  const journal = paths.length === 0 ? withoutJournal() : await openJournal({ ...ctx, paths, key, onLost })
  const { flushRefusals, lookAtCatalogue, ...vault } = createVault({
    ...ctx,
    rootKey,
    nextRootKey,
    environment,
    limits: config,
    chainOf,
    journal,
    log,
  })
  await lookAtCatalogue()
  const onUnread = (err: unknown) => log.error({ err }, 'the catalogue of the database could not be read')
  const looking = setInterval(() => void lookAtCatalogue().catch(onUnread), CATALOGUE_MS)
  looking.unref()
  const close: VaultCtx['close'] = async (options) => {
    clearInterval(looking)
    try {
      await flushRefusals()
      await journal.close()
    } finally {
      await ctx.close(options)
    }
  }
  return { ...ctx, vault, flushRefusals, lookAtCatalogue, close }
}
