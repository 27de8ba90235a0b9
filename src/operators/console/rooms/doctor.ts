import { html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { table, word } from '../table.ts'

/** The console sends no mail and makes no public links. */
const OF_OTHERS = ['PUBLIC_BASE_URL', 'mail']

/** What `cli doctor` says, as this process finds the installation. */
export const doctor: Room = async (ctx) => {
  const findings = await ctx.examine()
  return {
    title: 'Installation',
    body: html`<p class="quiet">As this process found it within the last ten seconds, with its own variables. <code>bun run cli doctor</code> looks with those of the API.</p>
${table({
  caption: 'Checks',
  columns: [
    { head: 'Check', cell: ({ check }) => check },
    { head: 'State', cell: ({ state }) => word(state) },
    { head: 'Found', cell: ({ found }) => found, is: 'long' },
    { head: 'What to do', cell: ({ advice }) => advice, is: 'long' },
  ],
  rows: findings.filter(({ check }) => !OF_OTHERS.includes(check)),
  none: 'Nothing was checked.',
})}`,
  }
}
