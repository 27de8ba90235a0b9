import { Command, InvalidArgumentError, Option } from 'commander'
import type { AuditRecord } from '../../db/queries/audit-chain.ts'
import { SECURITY_EVENTS, type SecurityEventKind } from '../../db/words.ts'
import { shownHead } from '../audit/chain.ts'
import { type Broken, listAudit, type NotedHead, type Verification, verifyAudit } from '../audit/verify.ts'
import { type Callers, verifyCallers } from '../audit/verify-callers.ts'
import type { Sealer } from '../custody/sealer.ts'
import type { OperatorVault } from '../custody/vault.ts'
import type { CustodyRows, ForgedRow } from '../custody/verify-rows.ts'
import type { AuditingCtx } from '../environment/contexts.ts'
import { listSecurityEvents } from '../security/events.ts'
import { several, uuid, wholeNumber } from './arguments.ts'
import { rowAsJson } from './operator.ts'
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
  const where = position === null ? 'a row that is not chained yet' : `position ${position}`
  return `BROKEN: chain ${chain}, ${where}${auditId === null ? '' : `, audit row ${auditId}`}: ${trouble}.`
}

const placeOf = ({ table, id, projectId }: ForgedRow): string =>
  `table ${table}, row ${id}${projectId === null ? '' : `, project ${projectId}`}`

const forgedSentenceOf = (row: ForgedRow): string => `FORGED: ${placeOf(row)}: ${row.trouble}.`

/** With `callers` null if the rows that decide who a caller is were not checked, and `custody` those of custody. */
type Verified = Verification & {
  readonly callers: Callers | null
  readonly custody: CustodyRows | null
}

const isIntact = ({ broken, callers, custody }: Verified): boolean =>
  [broken, callers?.forged ?? [], custody?.forged ?? []].every((rows) => rows.length === 0)

const shownVerification = (verified: Verified) => {
  const { ends, broken, rows, unchained, callers, custody } = verified
  return {
    ok: isIntact(verified),
    rows: Number(rows),
    broken: broken.map(rowAsJson),
    heads: ends.map(shownHead),
    unchained: rowAsJson(unchained),
    callers: callers && { rows: callers.rows, forged: callers.forged.map(rowAsJson) },
    custody: custody && { forged: custody.forged.map(rowAsJson), unfinished: custody.unfinished.map(rowAsJson) },
  }
}

const callerLinesOf = (callers: Callers | null): readonly string[] => {
  if (callers === null)
    return ['Rows that admit somebody were not checked: that needs IDENTITY_KEY and the login of the API.']
  const { forged, rows } = callers
  if (forged.length > 0) return forged.map(forgedSentenceOf)
  return [`Rows that admit somebody: all ${rows} are as the service wrote them.`]
}

const custodyLinesOf = (custody: CustodyRows | null): readonly string[] => {
  if (custody === null) {
    return [
      'Counts of wrong PINs, policies, wallets and keyrings were not checked: that needs VAULT_SOCKET, IDENTITY_KEY and the login of the API.',
    ]
  }
  const { forged, unfinished } = custody
  const left = unfinished.map((row) => `UNFINISHED: ${placeOf(row)}: ${row.trouble}.`)
  if (forged.length > 0) return [...forged.map(forgedSentenceOf), ...left]
  return ['Counts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them.', ...left]
}

const linesOf = (verified: Verified, input: { readonly heads: boolean }) => {
  const { ends, broken, rows, unchained, callers, custody } = verified
  const since = unchained.oldest === null ? '' : `, the oldest of ${unchained.oldest.toISOString()}`
  return [
    ...broken.map(sentenceOf),
    ...callerLinesOf(callers),
    ...custodyLinesOf(custody),
    ...(input.heads ? ends.map(shownHead) : []),
    `Unchained tail: ${unchained.rows} rows${since}.`,
    isIntact(verified) ? `The audit holds: ${rows} rows in ${ends.length} chains.` : 'The audit does not hold.',
  ]
}

type VerifyOptions = { project?: string; head?: readonly NotedHead[]; heads?: boolean; json?: boolean }

const verify =
  ({ variables, print, printJson, note, fail, withAuditingCtx, withIdentityCtx, withVault }: Shell) =>
  ({ project, head: heads = [], heads: showHeads = false, json }: VerifyOptions) => {
    const run = async (ctx: AuditingCtx, identity: Sealer | null, vault: OperatorVault | null) => {
      let noted = 0n
      const onProgress = (rows: bigint) => {
        if (rows - noted < PROGRESS_ROWS) return
        noted = rows
        note(`${rows} rows verified`)
      }
      const verification = await verifyAudit(ctx, { chain: project ?? null, heads, onProgress })
      const callers = identity && (await verifyCallers({ ...ctx, identity }, { projectId: project ?? null }))
      const custody = vault && (await vault.forgedRows({ projectId: project ?? null }))
      const verified = { ...verification, callers, custody }
      if (json) printJson(shownVerification(verified))
      else for (const line of linesOf(verified, { heads: showHeads })) print(line)
      if (!isIntact(verified)) fail()
    }
    const isSet = (name: string) => Boolean(variables[name]?.trim())
    // The worker's surroundings have no identity key.
    if (!isSet('IDENTITY_KEY')) return withAuditingCtx((ctx) => run(ctx, null, null))
    if (!isSet('VAULT_SOCKET')) return withIdentityCtx((ctx) => run(ctx, ctx.identity, null))
    return withIdentityCtx((ctx) => withVault(({ vault }) => run(ctx, ctx.identity, vault)))
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
    .summary('Check every audit row, every link of the chains, and the rows that admit somebody.')
    .description(
      'Recompute every audit row and every link of the chains; exit code 1 if one is broken. Somebody who has the service ' +
        'key can rewrite the whole log; only a head that was noted elsewhere reveals that: see --head. With IDENTITY_KEY it ' +
        'also names each row that admits somebody, such as an API key, a passkey or a session, that the service has not ' +
        'written, or that the audit says has ended; with VAULT_SOCKET as well each count of wrong PINs and ' +
        'each policy that the vault has not written, and policies, wallets and keyrings that are not as the audit tells.',
    )
    .option('--project <id>', 'only the chain of this project', uuid)
    .option(
      '--head <chain:position:hex>',
      'check that this head, taken from the log output, is still in its chain; can be repeated',
      several(head),
    )
    .option('--heads', 'print the head of each intact chain, so that you can note it')
    .option('--json', 'print { ok, rows, broken, heads, unchained, callers, custody }')
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
