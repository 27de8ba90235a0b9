// Judges what doctor has read: each setting is right, or is wrong for a reason. The functions are pure, because no test
// can bring a real server into all of these states.

import type { Connections, Server } from '../../../db/queries/server.ts'
import type { Config } from '../../platform/config.ts'
import { CLOCKS_APART_MAX_MS } from '../../vault/client/clocks.ts'
import { type Finding, findingsOf } from './finding.ts'

const VERSION_MIN = 15
/** An API, a vault and a worker, as they are by default: 16 + 9 + 20 ("The database" in docs/deployment.md). */
const FREE_CONNECTIONS_MIN = 45
const CLOCK_WARNING_MS = 1_000
/** Compacting a journal writes it a second time. */
const JOURNAL_FREE_MIN = 2 ** 30

export type Judged = {
  readonly config: Pick<Config, 'environment' | 'devnet'>
  /** The role that the login should have. */
  readonly role: 'strongroom_vault' | 'strongroom_api' | 'strongroom_worker' | 'strongroom_console'
}

export const serverFindings = (server: Server, { config, role }: Judged): readonly Finding[] => {
  const major = Math.floor(server.version / 10_000)
  const version = findingsOf('database version')
  const tls = findingsOf('database TLS')
  const user = findingsOf('database user')
  const settings = findingsOf('database settings')
  const isReal = config.environment === 'mainnet'
  const tooMany = [
    ...(server.isSuperuser ? ['is a superuser'] : []),
    ...(server.ownsDatabase && !server.isSuperuser ? ['owns the database'] : []),
  ]
  return [
    major >= VERSION_MIN
      ? version.ok(`PostgreSQL ${major}`)
      : version.failed(`PostgreSQL ${major}`, `Upgrade it to PostgreSQL ${VERSION_MIN} or later.`),
    server.isEncrypted || server.isOnThisMachine
      ? tls.ok(server.isEncrypted ? 'the connection is encrypted' : 'the server is on this machine')
      : tls.warning(
          'the connection to another machine is not encrypted',
          'Add ?sslmode=verify-full to DATABASE_URL, and &sslrootcert=/path for a certificate authority of your own.',
        ),
    tooMany.length > 0
      ? user.failed(
          `${server.user} ${tooMany.join(' and ')}`,
          `Use a login that is only in the role ${role}: this one may read and change what only a vault may.`,
        )
      : server.hasRole
        ? user.ok(`${server.user} has the role ${role}`)
        : user.failed(
            `${server.user} does not have the role ${role}`,
            `As the owner of the database, run: grant ${role} to "${server.user}"`,
          ),
    server.unsafeSettings.length === 0
      ? settings.ok('what is committed survives a crash')
      : (isReal ? settings.failed : settings.warning)(
          `${server.unsafeSettings.join(' and ')} off`,
          'Switch it on: after a crash of the server, transactions could be missing that were answered with success.',
        ),
    ...(isReal && !server.archives
      ? [
          settings.warning(
            'archive_mode is off',
            'Archive the write-ahead log, so that a restore loses seconds instead of a day ("Backups" in docs/backup.md).',
          ),
        ]
      : []),
    ...(server.hasOnlyAsyncReplicas
      ? [
          settings.warning(
            'no replica is synchronous',
            'Name one in synchronous_standby_names: a failover to an asynchronous one loses what was answered last ("After a failover" in docs/backup.md).',
          ),
        ]
      : []),
  ]
}

export const connectionFindings = ({ usable, free }: Connections): readonly Finding[] => {
  const { ok, warning } = findingsOf('database connections')
  const found = `${free} of ${usable} are free`
  if (free >= FREE_CONNECTIONS_MIN) return [ok(found)]
  return [
    warning(
      found,
      `One more API, worker and vault take up to ${FREE_CONNECTIONS_MIN}: raise max_connections, or lower DATABASE_MAX_CONNECTIONS.`,
    ),
  ]
}

export const clockFindings = (apartMs: number): readonly Finding[] => {
  const { ok, warning, failed } = findingsOf('clock')
  if (apartMs <= CLOCK_WARNING_MS) return [ok('the clocks of this machine and of the database agree')]
  const found = `the clocks of this machine and of the database differ by ${(apartMs / 1_000).toFixed(1)} s`
  const advice = `Synchronise both by NTP, for instance with chrony: vaults check no PIN above ${CLOCKS_APART_MAX_MS / 1_000} s.`
  return [apartMs > CLOCKS_APART_MAX_MS ? failed(found, advice) : warning(found, advice)]
}

export const journalFinding = ({ path, freeBytes }: { readonly path: string; readonly freeBytes: number }): Finding => {
  const { ok, warning } = findingsOf('journal')
  const found = `${(freeBytes / 2 ** 30).toFixed(1)} GiB are free beside ${path}`
  if (freeBytes >= JOURNAL_FREE_MIN) return ok(found)
  return warning(found, 'Make space: a vault that cannot write its journal ends.')
}
