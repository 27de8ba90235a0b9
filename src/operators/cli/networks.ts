import { Command } from 'commander'
import type { NodeView } from '../../chains/chain.ts'
import { readConfig, readNetworks } from '../../platform/config.ts'
import { SUBSTRATE_NETWORKS, type SubstrateNetwork, substrateNetworkRow, variableOf } from '../../platform/networks.ts'
import { oneOf, rowAsJson, table } from './arguments.ts'
import type { Shell } from './shell.ts'

const listNetworks = ({ variables, print, printJson }: Shell): Command =>
  new Command('list')
    .description(
      'List the networks of this environment; says what is wrong with NETWORKS_FILE. It asks no database and no node.',
    )
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) => {
      const rows = readNetworks(variables).map((row) => ({
        network: row.network,
        family: row.family,
        chain_id: 'chainId' in row ? row.chainId : null,
        coin: row.coin.symbol,
        decimals: row.coin.decimals,
        node: variableOf(row.network, 'RPC_URL'),
        explorer_url: row.explorerUrl,
      }))
      if (json) return printJson(rows)
      const lines = rows.map((row) => Object.values(row).map((value) => String(value ?? '-')))
      print(table([['NETWORK', 'FAMILY', 'CHAIN ID', 'COIN', 'DECIMALS', 'NODE', 'EXPLORER'], ...lines]))
    })

export const networkCommands = (shell: Shell): Command =>
  new Command('networks')
    .description('Networks: those that are built in, and those of NETWORKS_FILE.')
    .addCommand(listNetworks(shell))

const lastTroubleOf = ({ lastTrouble }: NodeView): string =>
  lastTrouble === null ? '-' : `${lastTrouble.trouble} ${lastTrouble.at.toISOString()}`

export const nodeCommands = ({ print, printJson, withAskingCtx }: Shell): Command =>
  new Command('nodes')
    .description('Ask each configured node for its chain and its newest block, and list how it is.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
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
      }),
    )

const pin = ({ variables, print, printJson, note }: Shell): Command =>
  new Command('pin')
    .description("Print the pin of the metadata of a node's current runtime.")
    .argument('<network>', SUBSTRATE_NETWORKS.join(' or '), oneOf(SUBSTRATE_NETWORKS))
    .option('--url <url>', 'use this node instead of the configured one')
    .option('--json', 'print a JSON object')
    .action(async (network: SubstrateNetwork, { url, json }: { url?: string; json?: boolean }) => {
      const config = readConfig(variables)
      const rpcUrl = url ?? config.rpcUrls[network]?.[0]?.reveal()
      if (rpcUrl === undefined) throw new Error(`The configuration has no node of ${network}: name one with --url.`)
      // The metadata reader takes half a second to load.
      const { readPin } = await import('../../chains/read-pin.ts')
      const row = substrateNetworkRow({ ...config, network })
      const { specName, specVersion, hash, isCovered } = await readPin({ row, rpcUrl, timeoutMs: config.nodeTimeoutMs })
      if (json)
        return printJson({ network, spec_name: specName, spec_version: specVersion, hash, is_covered: isCovered })
      print(`${network.toUpperCase()}_METADATA_PIN=${specVersion}:${hash}`)
      note(
        `Only one node says that runtime ${specName} ${specVersion} has this metadata. Ask a second node, or build the runtime.`,
      )
      if (isCovered)
        note('Signatures cover its metadata. It needs a pin only if it was built without the metadata hash.')
    })

export const runtimeCommands = (shell: Shell): Command =>
  new Command('runtime')
    .description(`Runtimes of ${SUBSTRATE_NETWORKS.join(' and ')}, whose metadata signing depends on.`)
    .addCommand(pin(shell))
