import { Command, InvalidArgumentError, Option } from 'commander'
import type { AuditRecord } from '../../db/queries/audit-rows.ts'
import { SECURITY_EVENTS, type SecurityEventKind } from '../../db/words.ts'
import { listAudit } from '../audit/list.ts'
import { type Callers, verifyCallers } from '../audit/verify-callers.ts'
import { type ServiceRows, verifyServiceRows } from '../audit/verify-service-rows.ts'
import type { Broken, NotedHead, OperatorVault, Verification } from '../custody/vault.ts'
import type { CustodyRows, ForgedRow } from '../custody/verify-rows.ts'
import type { IdentityCtx, ReadingCtx } from '../environment/contexts.ts'
import { listSecurityEvents } from '../security/events.ts'
import { several, uuid, wholeNumber } from './arguments.ts'
import { rowAsJson, usageError } from './operator.ts'
import type { Shell } from './shell.ts'

const HEAD = /^(deployment|[0-9a-f-]{36}):([1-9][0-9]{0,17}):([0-9a-f]{64})$/i
const PROGRESS_ROWS = 100_000n

const head = (text: string): NotedHead => {
  const [, chain, position, hex] = HEAD.exec(text) ?? []
  if (chain === undefined || position === undefined || hex === undefined) {
    throw new InvalidArgumentError('It must be CHAIN:POSITION:HEX, as in the log.')
  }
  return { chain: chain.toLowerCase(), position: BigInt(position), head: new Uint8Array(Buffer.from(hex, 'hex')) }
}

const sentenceOf = ({ chain, position, auditId, trouble }: Broken): string => {
  const where = [position === null ? [] : `position ${position}`, auditId === null ? [] : `audit row ${auditId}`]
  return `BROKEN: ${[`chain ${chain}`, ...where.flat()].join(', ')}: ${trouble}.`
}

const placeOf = ({ table, id, projectId }: ForgedRow): string =>
  `table ${table}, row ${id}${projectId === null ? '' : `, project ${projectId}`}`

const forgedSentenceOf = (row: ForgedRow): string => `FORGED: ${placeOf(row)}: ${row.trouble}.`

/** Each is null if it was not checked. */
type Verified = {
  /** What the vault says of the chains, and of the rows in them that vaults have written. */
  readonly chains: Verification | null
  /** The rows of the audit that others have written. */
  readonly service: ServiceRows | null
  /** The rows that decide who a caller is. */
  readonly callers: Callers | null
  readonly custody: CustodyRows | null
}

const brokenOf = ({ chains, service }: Verified): readonly Broken[] => [
  ...(chains?.broken ?? []),
  ...(service?.broken ?? []),
]

const isIntact = (verified: Verified): boolean => {
  const { callers, custody } = verified
  return [brokenOf(verified), callers?.forged ?? [], custody?.forged ?? []].every((rows) => rows.length === 0)
}

const shownVerification = (verified: Verified) => {
  const { chains, service, callers, custody } = verified
  return {
    ok: isIntact(verified),
    broken: brokenOf(verified).map(rowAsJson),
    chains: chains && {
      rows: Number(chains.rows),
      heads: chains.heads,
      unchained: rowAsJson(chains.unchained),
    },
    service: service && { rows: service.rows },
    callers: callers && { rows: callers.rows, forged: callers.forged.map(rowAsJson) },
    custody: custody && { forged: custody.forged.map(rowAsJson), unfinished: custody.unfinished.map(rowAsJson) },
  }
}

const callerLinesOf = (callers: Callers | null): readonly string[] => {
  if (callers === null)
    return [
      'Rows that admit somebody, and MACs of wallets, were not checked: that needs IDENTITY_KEY and the login of the API.',
    ]
  const { forged, rows } = callers
  if (forged.length > 0) return forged.map(forgedSentenceOf)
  return [`Rows that admit somebody, and MACs of wallets: all ${rows} are as the service wrote them.`]
}

const custodyLinesOf = (custody: CustodyRows | null): readonly string[] => {
  if (custody === null)
    return ['Counts of wrong PINs, policies, wallets and keyrings were not checked: that needs VAULT_SOCKET.']
  const { forged, unfinished } = custody
  const left = unfinished.map((row) => `UNFINISHED: ${placeOf(row)}: ${row.trouble}.`)
  if (forged.length > 0) return [...forged.map(forgedSentenceOf), ...left]
  return ['Counts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them.', ...left]
}

const serviceLinesOf = (service: ServiceRows | null): readonly string[] => {
  if (service === null)
    return ['Audit rows of APIs, workers and commands were not checked: that needs IDENTITY_KEY and SERVICE_KEY.']
  if (service.broken.length > 0) return []
  return [`Audit rows of APIs, workers and commands: all ${service.rows} are as they were written.`]
}

const chainLinesOf = (chains: Verification | null): readonly string[] => {
  if (chains === null) return ['The chains and the audit rows of vaults were not checked: that needs VAULT_SOCKET.']
  const { rows, oldest } = chains.unchained
  return [`Unchained tail: ${rows} rows${oldest === null ? '' : `, the oldest of ${oldest.toISOString()}`}.`]
}

const lastLineOf = (verified: Verified): string => {
  const { chains } = verified
  if (!isIntact(verified)) return 'The audit does not hold.'
  if (chains === null) return 'What was checked holds.'
  return `The audit holds: ${chains.rows} rows in ${chains.heads.length} chains.`
}

const linesOf = (verified: Verified, input: { readonly heads: boolean }) => [
  ...brokenOf(verified).map(sentenceOf),
  ...callerLinesOf(verified.callers),
  ...custodyLinesOf(verified.custody),
  ...serviceLinesOf(verified.service),
  ...(input.heads ? (verified.chains?.heads ?? []) : []),
  ...chainLinesOf(verified.chains),
  lastLineOf(verified),
]

type VerifyOptions = { project?: string; head?: readonly NotedHead[]; heads?: boolean; json?: boolean }

type Held = {
  /** The two secrets that a vault does not have. */
  readonly keys: Pick<IdentityCtx, 'sealer' | 'identity'> | null
  readonly vault: OperatorVault | null
}

const isSet = ({ variables }: Shell, name: string): boolean => Boolean(variables[name]?.trim())

/** Runs with the keys of its environment. A worker's or a vault's environment has no identity key. */
const withWhatIsSet = (shell: Shell, run: (ctx: ReadingCtx, held: Held) => Promise<void>) => {
  const { withReadingCtx, withIdentityCtx, withVault } = shell
  const withKeys = (vault: OperatorVault | null) => {
    if (isSet(shell, 'IDENTITY_KEY')) return withIdentityCtx((ctx) => run(ctx, { keys: ctx, vault }))
    return withReadingCtx((ctx) => run(ctx, { keys: null, vault }))
  }
  return isSet(shell, 'VAULT_SOCKET') ? withVault(({ vault }) => withKeys(vault)) : withKeys(null)
}

const createNoteRows = ({ note }: Shell) => {
  let noted = 0n
  return (rows: bigint) => {
    if (rows - noted < PROGRESS_ROWS) return
    noted = rows
    note(`${rows} rows verified`)
  }
}

const verify =
  (shell: Shell) =>
  ({ project, head: heads = [], heads: showHeads = false, json }: VerifyOptions, command: Command) => {
    const hasVault = isSet(shell, 'VAULT_SOCKET')
    if (!hasVault && (heads.length > 0 || showHeads)) {
      usageError(command, '--head and --heads need VAULT_SOCKET, because a vault checks the chains.')
    }
    if (!hasVault && !isSet(shell, 'IDENTITY_KEY')) {
      usageError(command, 'VAULT_SOCKET must be set, or IDENTITY_KEY and SERVICE_KEY, or all three.')
    }
    return withWhatIsSet(shell, async ({ db }, { keys, vault }) => {
      const chain = project ?? null
      const of = { projectId: chain }
      const [noteChained, noteService] = [createNoteRows(shell), createNoteRows(shell)]
      const verified = {
        chains: vault && (await vault.verifyAudit({ chain, heads }, ({ rows }) => noteChained(rows))),
        service: keys && (await verifyServiceRows({ ...keys, db }, { chain, onProgress: noteService })),
        callers: keys && (await verifyCallers({ ...keys, db }, of)),
        custody: vault && (await vault.forgedRows(of)),
      }
      if (json) shell.printJson(shownVerification(verified))
      else for (const line of linesOf(verified, { heads: showHeads })) shell.print(line)
      if (!isIntact(verified)) shell.fail()
    })
  }

const shown = ({ id, at, actor, action, subject, details }: AuditRecord) =>
  rowAsJson({ id, at, actor, action, subject, details })

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ project, limit, json }: { project: string; limit: number; json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const rows = await listAudit(ctx, { projectId: project, limit })
      if (json) return printJson(rows.map(shown))
      for (const { id, at, actor, action, subject, details } of rows) {
        print(`${id}  ${at.toISOString()}  ${action}  ${subject}  by ${actor}  ${JSON.stringify(details)}`)
      }
    })

type SecurityOptions = { project?: string; kind?: SecurityEventKind; limit: number; json?: boolean }

const security =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ project, kind, limit, json }: SecurityOptions) =>
    withReadingCtx(async (ctx) => {
      const rows = await listSecurityEvents(ctx, { projectId: project ?? null, kind: kind ?? null, limit })
      if (json) return printJson(rows.map((row) => ({ ...shown(row), project_id: row.projectId })))
      for (const { at, action, projectId, actor, subject, details } of rows) {
        const { count, since, until: _, ...others } = details
        const what = Object.entries(others).map(([name, value]) => `  ${name} ${value}`)
        const where = projectId === null ? '' : `  project ${projectId}`
        print(
          `${at.toISOString()}  ${action}  ${count} since ${since}  ${subject}  by ${actor}${what.join('')}${where}`,
        )
      }
      if (rows.length === 0) print('There are no security events.')
    })

export const auditCommands = (shell: Shell): Command => {
  const command = new Command('audit').description('The audit log: who did what, and whether the log is intact.')
  command
    .command('verify')
    .summary('Check every audit row, every link of the chains, and the rows that decide something.')
    .description(
      'Recompute every audit row and every link of the chains; exit code 1 if one is broken. With VAULT_SOCKET, as root or ' +
        "the vault's user, the vault checks the chains, the rows that vaults have written, and each count of wrong PINs, each " +
        'policy, wallet and keyring. With IDENTITY_KEY and SERVICE_KEY the rows that others have written are checked, and each ' +
        'row that admits somebody, such as an API key, a passkey or a session. What was not checked is said. Who takes away ' +
        'the end of a chain is revealed only by a head that was noted elsewhere: see --head.',
    )
    .option('--project <id>', 'only the chain of this project', uuid)
    .option(
      '--head <chain:position:hex>',
      'check that this head, taken from the log output, is still in its chain; can be repeated',
      several(head),
    )
    .option('--heads', 'print the head of each intact chain, so that you can note it')
    .option('--json', 'print { ok, broken, chains, service, callers, custody }')
    .action(verify(shell))
  command
    .command('list')
    .description("Print a project's audit rows, newest first.")
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--limit <rows>', 'at most this many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array')
    .action(list(shell))
  command
    .command('security')
    .summary('Print security events: refusals that may be part of an attack, newest first.')
    .description(
      'Print security events: refusals that may be part of an attack, newest first: wrong PINs and secrets, forged tokens, ' +
        'failed logins and the like. One line counts all events of a kind about one subject within half a minute; "others" counts what was too much to ' +
        'keep apart.',
    )
    .option('--project <id>', 'only those of this project', uuid)
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(SECURITY_EVENTS))
    .option('--limit <rows>', 'at most this many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array')
    .action(security(shell))
  return command
}
