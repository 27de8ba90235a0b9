// Which project a list is of, and a form to choose another or to look something up.

import { projectChoices } from '../../../../db/queries/console.ts'
import { UUID } from '../../../platform/http/text.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Asked } from '../frame.ts'

/** More projects than these are named by their id in the address. */
const CHOICES_MAX = 500

type Project = Awaited<ReturnType<typeof projectChoices>>[number]

/** A UUID, or null. */
export const uuidIn = (text: string | undefined): string | null =>
  text !== undefined && UUID.test(text) ? text.toLowerCase() : null

export const textIn = ({ query }: Asked, name: string): string | null => query.get(name)?.trim() || null

/** The projects, and the id of the one that the query names. */
export const readProjects = async (
  { db }: Pick<ConsoleCtx, 'db'>,
  { query }: Asked,
): Promise<{ readonly projects: readonly Project[]; readonly named: string | null }> => ({
  projects: await projectChoices(db, CHOICES_MAX),
  named: uuidIn(query.get('project')),
})

/** @param input.all the choice for no project; null if one must be chosen. */
export const projectForm = (input: {
  readonly path: string
  readonly projects: readonly Project[]
  readonly chosen: string | null
  readonly all: string | null
  /** Further fields of the form. */
  readonly fields?: Html
}): Html => {
  const { path, projects, chosen, all, fields } = input
  const option = (value: string, name: string) =>
    html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : null}>${name}</option>`
  const others = chosen === null || projects.some(({ id }) => id === chosen) ? html`` : option(chosen, chosen)
  return html`<form class="filter" method="get" action="${path}">
<label>Project <select name="project">${all === null ? null : option('', all)}${projects.map(({ id, name }) => option(id, name))}${others}</select></label>
${fields ?? null}<button class="small">Show</button>
</form>`
}

export const searchField = (label: string, value: string | null): Html =>
  html`<label>${label} <input name="q" value="${value ?? ''}" maxlength="256" autocomplete="off" spellcheck="false"></label>
`
