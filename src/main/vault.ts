// The vault process, the only one that has the root key: config → root key and database → socket; on SIGTERM: send
// clients to other vaults → finish → end.

import { countConnectionsMax } from '../../db/client.ts'
import { readConfig } from '../platform/config.ts'
import { logConnections } from '../platform/environment/database.ts'
import { explainFailure } from '../platform/environment/failure.ts'
import { warnOfUnknown } from '../platform/environment/variables.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps, peerUsers } from '../platform/process/libc.ts'
import { createLog } from '../platform/process/log.ts'
import { isByTls } from '../vault/client/remote-vault.ts'
import { LACKING_WORDS } from '../vault/contract/contract.ts'
import { serveVault } from '../vault/rooms/serve-vault.ts'
import { startChaining } from '../vault/rooms/start-chaining.ts'
import { startBeingSeen } from './being-seen.ts'
import { openVault } from './open-vault.ts'

/** As long as an API waits for its requests: they may still need a key that they have opened here. */
const DRAIN_MS = 65_000

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig(undefined, 'vault')
  const [path] = config.vaultSockets
  if (path === undefined || isByTls(path) || config.vaultSockets.length > 1) {
    throw new Error('VAULT_SOCKET must be one path: that of the socket at which this vault listens.')
  }
  if (config.environment === 'mainnet' && config.vaultJournals.length === 0) {
    throw new Error("VAULT_JOURNAL must be the path of a file for this vault's journal, outside of the database.")
  }
  const users = await peerUsers(config.vaultClientUids)
  const log = createLog({ config, process: 'vault' })
  const onJournalLost = (error: unknown) => {
    log.fatal({ err: error }, 'the journal cannot be written: the vault ends')
    process.exit(1)
  }
  const ctx = await openVault({ config, process: 'vault', log, onJournalLost })
  const { vault, db } = ctx
  const { rootKeyIds, lacking } = await vault.status()
  if (lacking !== null) log.error({ lacking }, `no key is opened: ${LACKING_WORDS[lacking]}`)
  if (config.vaultJournals.length === 0)
    log.warn('without VAULT_JOURNAL a restore of the database loses what was made since')
  else if ((await vault.journalState()).records === 1)
    log.warn('the journal is new: take a backup of the database, as it cannot bring an older one to the present')
  if (!dumpsNothing) log.warn(CORE_DUMPS_ALLOWED)
  warnOfUnknown({ config, log })
  await logConnections(
    { db, log },
    countConnectionsMax({ maxConnections: config.databaseMaxConnections, waitsForEvents: false }),
  )
  const stopBeingSeen = startBeingSeen({ db, log, rootKeyIds })
  const listener = await serveVault({ ...ctx, path, users, tls: config.vaultListen, log })
  const stopChaining = startChaining({ ...ctx, log })

  const stop = async (signal: string): Promise<void> => {
    log.info({ signal }, 'stopping')
    await listener.stop({ graceMs: DRAIN_MS })
    await Promise.all([stopChaining(), stopBeingSeen()])
    await ctx.close({ timeoutSeconds: 2 })
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  // Log this last: a supervisor that reads it may stop the process, which must then end cleanly.
  log.info({ sockets: listener.places, environment: config.environment, rootKeyIds }, 'listening')
}

main().catch((error: unknown) => {
  process.stderr.write(`The vault cannot start: ${explainFailure(error)}\n`)
  process.exit(1)
})
