import { Command, InvalidArgumentError, Option } from 'commander'
import { type AuditRecord, listAuditRows } from '../../../db/queries/audit-rows.ts'
import { findProject } from '../../../db/queries/projects.ts'
import { SECURITY_EVENTS, type SecurityEventKind } from '../../../db/words.ts'
import { listSecurityEvents } from '../../identity/security-events.ts'
import { noSuchProject } from '../../platform/errors.ts'
import type { NotedHead, OperatorVault } from '../../vault/contract/vault.ts'
import { archiveAudit } from '../audit/archive.ts'
import { brokenOf, type Held, isIntact, linesOf, type Needs, type Verified, verifyAll } from '../audit/verify.ts'
import type { ReadingCtx } from '../ctx.ts'
import { instant, rowAsJson, several, usageError, uuid, wholeNumber } from './arguments.ts'
import type { Shell } from './shell.ts'

type ArchiveOptions = { readonly before: Date; readonly to: string; readonly json?: boolean }

const archive = ({ print, printJson, withVault }: Shell): Command =>
  new Command('archive')
    .summary('Move old audit rows to files, behind checkpoints that the vault signs.')
    .description(
      'Write the audit rows before a time to files, one for each chain, have the vault verify them and sign a checkpoint for each, ' +
        "and delete those on which nothing depends. As root or the vault's user, with VAULT_SOCKET. It can be killed, and run again.",
    )
    .requiredOption('--before <time>', 'only rows before this time, at least 30 days ago', instant)
    .requiredOption('--to <folder>', 'a folder that exists')
    .option('--json', 'print one JSON object for each file')
    .action(({ before, to: folder, json }: ArchiveOptions) =>
      withVault(async ({ vault }) => {
        let files = 0
        const { finished } = await archiveAudit(vault, { before, folder }, (archived) => {
          files += 1
          if (json) return printJson(rowAsJson(archived))
          const { chain, fromPosition, position, file, dropped } = archived
          print(`${file}: chain ${chain}, positions ${fromPosition} to ${position}; ${dropped} rows were deleted.`)
        })
        if (json) return
        if (finished > 0) print(`${finished} rows of an earlier run were deleted.`)
        print(
          files === 0
            ? 'Nothing is to be archived.'
            : `Keep these files (${files}): "audit verify --archive" needs them.`,
        )
      }),
    )

const HEAD = /^(deployment|[0-9a-f-]{36}):([1-9][0-9]{0,17}):([0-9a-f]{64})$/i
const PROGRESS_ROWS = 100_000n

const NEEDS: Needs = {
  vault: 'VAULT_SOCKET',
  callers: 'IDENTITY_KEY and the login of the API',
  archive: '--archive',
}

const head = (text: string): NotedHead => {
  const [, chain, position, hex] = HEAD.exec(text) ?? []
  if (chain === undefined || position === undefined || hex === undefined) {
    throw new InvalidArgumentError('It must be CHAIN:POSITION:HEX, as in the log.')
  }
  return { chain: chain.toLowerCase(), position: BigInt(position), head: new Uint8Array(Buffer.from(hex, 'hex')) }
}

const shownVerification = (verified: Verified) => {
  const { catalogue, failure, chains, service, callers, custody, archive } = verified
  return {
    ok: isIntact(verified),
    catalogue: catalogue.map(({ found }) => found),
    failure,
    broken: brokenOf(verified).map(rowAsJson),
    chains: chains && {
      rows: Number(chains.rows),
      heads: chains.heads,
      unchained: rowAsJson(chains.unchained),
    },
    service: service && { rows: service.rows },
    callers: callers && { rows: callers.rows, forged: callers.forged.map(rowAsJson) },
    archive: archive?.isChecked ? { files: archive.files, rows: Number(archive.rows) } : null,
    custody: custody && { forged: custody.forged.map(rowAsJson), unfinished: custody.unfinished.map(rowAsJson) },
  }
}

type VerifyOptions = {
  project?: string
  archive?: string
  head?: readonly NotedHead[]
  heads?: boolean
  json?: boolean
}

const isSet = ({ variables }: Shell, name: string): boolean => Boolean(variables[name]?.trim())

/** Runs with the keys of its environment. A worker's or a vault's environment has no identity key. */
const withWhatIsSet = (shell: Shell, run: (ctx: ReadingCtx, held: Held) => Promise<void>) => {
  const { withReadingCtx, withIdentityCtx, withVault } = shell
  const withKeys = (vault: OperatorVault | null) => {
    if (isSet(shell, 'IDENTITY_KEY'))
      return withIdentityCtx((ctx) => run(ctx, { keys: ctx, vault, readsCallers: true }))
    return withReadingCtx((ctx) => run(ctx, { keys: null, vault, readsCallers: true }))
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

const verify = (shell: Shell): Command =>
  new Command('verify')
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
    .option('--archive <folder>', 'also check the files of "audit archive" in this folder')
    .option('--heads', 'print the head of each intact chain, so that you can note it')
    .option('--json', 'print { ok, catalogue, failure, broken, chains, service, callers, custody, archive }')
    .action(
      ({ project, archive, head: heads = [], heads: showHeads = false, json }: VerifyOptions, command: Command) => {
        const hasVault = isSet(shell, 'VAULT_SOCKET')
        if (!hasVault && (heads.length > 0 || showHeads || archive !== undefined)) {
          usageError(command, '--head, --heads and --archive need VAULT_SOCKET, because a vault checks the chains.')
        }
        if (!hasVault && !isSet(shell, 'IDENTITY_KEY')) {
          usageError(command, 'VAULT_SOCKET must be set, or IDENTITY_KEY and SERVICE_KEY, or all three.')
        }
        return withWhatIsSet(shell, async (ctx, held) => {
          const onRows = { chained: createNoteRows(shell), service: createNoteRows(shell) }
          const verified = await verifyAll(ctx, held, {
            chain: project ?? null,
            heads,
            archive: archive ?? null,
            onRows,
          })
          if (json) shell.printJson(shownVerification(verified))
          else for (const line of linesOf(verified, { heads: showHeads, needs: NEEDS })) shell.print(line)
          if (!isIntact(verified)) shell.fail()
        })
      },
    )

const shown = ({ id, at, actor, action, subject, details }: AuditRecord) =>
  rowAsJson({ id, at, actor, action, subject, details })

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description("Print a project's audit rows, newest first.")
    .requiredOption('--project <id>', 'the project', uuid)
    .option('--limit <rows>', 'at most this many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array')
    .action(({ project, limit, json }: { project: string; limit: number; json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        if ((await findProject(ctx.db, project)) === null) throw noSuchProject()
        const rows = await listAuditRows(ctx.db, { chain: project, limit })
        if (json) return printJson(rows.map(shown))
        for (const { id, at, actor, action, subject, details } of rows) {
          print(`${id}  ${at.toISOString()}  ${action}  ${subject}  by ${actor}  ${JSON.stringify(details)}`)
        }
      }),
    )

type SecurityOptions = { project?: string; kind?: SecurityEventKind; limit: number; json?: boolean }

const security = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('security')
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
    .action(({ project, kind, limit, json }: SecurityOptions) =>
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
      }),
    )

export const auditCommands = (shell: Shell): Command =>
  new Command('audit')
    .description('The audit log: who did what, and whether the log is intact.')
    .addCommand(verify(shell))
    .addCommand(list(shell))
    .addCommand(security(shell))
    .addCommand(archive(shell))
