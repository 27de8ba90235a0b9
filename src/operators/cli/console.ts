import { Command } from 'commander'
import { listOperators } from '../../../db/queries/operators.ts'
import { OPERATOR_ROLES, type OperatorRole } from '../../../db/words.ts'
import { originOf } from '../console/context.ts'
import { inviteOperator, LINK_MINUTES, removeOperator } from '../console/operators.ts'
import { OPERATOR, oneOf, rowAsJson, table } from './arguments.ts'
import type { Shell } from './shell.ts'

const link = ({ print, note, withIdentityCtx }: Shell): Command =>
  new Command('link')
    .description(
      'Print a link that logs an operator in once. A new name makes the operator; a known one gets the role.',
    )
    .requiredOption('--name <name>', 'as the audit log shows it: small letters, digits, and . _ - within')
    .requiredOption('--role <role>', OPERATOR_ROLES.join(' or '), oneOf(OPERATOR_ROLES))
    .action((options: { name: string; role: OperatorRole }) =>
      withIdentityCtx(async (ctx) => {
        const secret = await inviteOperator(ctx, { ...options, actor: OPERATOR })
        print(`${originOf(ctx.config, ctx.config.consolePort)}/link?secret=${secret}`)
        note(
          `The link logs ${options.name} in as ${options.role}, once, within ${LINK_MINUTES} minutes. Show it to nobody else.`,
        )
      }),
    )

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List the operators, with the numbers of their passkeys and of their sessions.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const rows = await listOperators(ctx.db)
        if (json) return printJson(rows.map(({ mac: _, ...row }) => rowAsJson(row)))
        if (rows.length === 0) return print('There are no operators.')
        const lines = rows.map(({ name, role, createdAt, passkeys, sessions }) =>
          [name, role, createdAt.toISOString(), passkeys, sessions].map(String),
        )
        print(table([['NAME', 'ROLE', 'SINCE', 'PASSKEYS', 'SESSIONS'], ...lines]))
      }),
    )

const remove = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('remove')
    .description('Remove an operator, with their passkeys, sessions and links.')
    .argument('<name>')
    .action((name: string) =>
      withIdentityCtx(async (ctx) => {
        await removeOperator(ctx, { name, actor: OPERATOR })
        print('The operator is removed: refused from the next request on.')
      }),
    )

export const consoleCommands = (shell: Shell): Command =>
  new Command('console')
    .description("The operators' console: who may use it.")
    .addCommand(link(shell))
    .addCommand(
      new Command('operators')
        .description('Who may use the console.')
        .addCommand(list(shell))
        .addCommand(remove(shell)),
    )
