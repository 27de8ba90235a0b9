import { Command } from 'commander'
import type { NodeView } from '../../chains/chain.ts'
import { rowAsJson, table } from './operator.ts'
import type { Shell } from './shell.ts'

const lastTroubleOf = ({ lastTrouble }: NodeView): string =>
  lastTrouble === null ? '-' : `${lastTrouble.trouble} ${lastTrouble.at.toISOString()}`

const list =
  ({ print, printJson, withAskingCtx }: Shell) =>
  ({ json }: { json?: boolean }) =>
    withAskingCtx(async (ctx) => {
      const looks = ctx.chains.all.map(async ({ network, lookAtNodes }) =>
        (await lookAtNodes()).map((view) => ({ network, node: view })),
      )
      const rows = (await Promise.all(looks)).flat()
      if (json)
        return printJson(
          rows.map(({ network, node: { name, ...view } }) => rowAsJson({ network, node: name, ...view })),
        )
      const lines = rows.map(({ network, node }) => [
        network,
        node.name,
        node.state,
        String(node.height ?? '-'),
        node.headAgeSeconds === null ? '-' : `${node.headAgeSeconds} s`,
        `${node.behindSeconds} s`,
        node.latencyMs === null ? '-' : `${Math.round(node.latencyMs)} ms`,
        lastTroubleOf(node),
      ])
      print(table([['NETWORK', 'NODE', 'STATE', 'HEIGHT', 'AGE', 'BEHIND', 'LATENCY', 'LAST TROUBLE'], ...lines]))
    })

export const nodeCommands = (shell: Shell): Command =>
  new Command('nodes')
    .description('Ask each configured node for its chain and its newest block, and list how it is.')
    .option('--json', 'print a JSON array')
    .action(list(shell))
