// The page that shows the OpenAPI document to people. It is made on the server and needs no script.

import { ERROR_STATUS, type ErrorCode } from '../../platform/errors.ts'
import { type Html, html, page } from '../../platform/pages/page.ts'
import { ERROR_WORDS, RETRY_TEXT } from './error-words.ts'
import { prose } from './fields.ts'
import { isJson, type Json, textOf, under } from './json.ts'
import { groupOf, idOf, type Operation, operationView } from './operation.ts'

const operationsOf = (document: Json): readonly Operation[] =>
  Object.entries(under(document, 'paths')).flatMap(([path, methods]) =>
    Object.keys(isJson(methods) ? methods : {}).map((method) => {
      const described = under(methods, method)
      const security = described.security ?? document.security
      const needs = Array.isArray(security) ? security.flatMap((each) => Object.keys(isJson(each) ? each : {})) : []
      return { method, path, described, needs }
    }),
  )

type Group = {
  readonly id: string
  readonly name: string
  readonly text: string
  readonly operations: readonly Operation[]
}

const groupsOf = (document: Json): readonly Group[] => {
  const operations = operationsOf(document)
  const tags = Array.isArray(document.tags) ? document.tags.filter(isJson) : []
  return tags.map(({ name, description }) => ({
    id: `about-${textOf(name).toLowerCase()}`,
    name: textOf(name),
    text: textOf(description),
    operations: operations.filter((each) => groupOf(each) === name),
  }))
}

/** First for those who listen. The style sheet puts it at the side, and on a phone behind everything else. */
const contents = (groups: readonly Group[]): Html => html`
  <nav id="contents" aria-label="Contents">
    <ul>
      <li><a href="#begin">Every call</a></li>${groups.map(
        ({ id, name, operations }) => html`
      <li><a href="#${id}">${name}</a>
        <ul>${operations.map(
          (each) => html`
          <li><a href="#${idOf(each)}"><span class="method ${each.method}">${each.method.toUpperCase()}</span> ${textOf(each.described.summary)}</a></li>`,
        )}
        </ul></li>`,
      )}
      <li><a href="#errors">Errors</a></li>
    </ul>
  </nav>`

const beginning = (
  document: Json,
  input: { readonly root: string; readonly baseUrl: string; readonly networks: string },
): Html => {
  const schemes = under(under(document, 'components'), 'securitySchemes')
  return html`
    <section id="begin" aria-labelledby="title">
      <h1 id="title">Strongroom API</h1>
      <p>${prose(under(document, 'info').description)}</p>
      <dl>
        <dt>Address</dt><dd><code>${input.baseUrl}</code></dd>
        <dt><code>X-WalletKit-Project-ID</code></dt><dd>${prose(under(schemes, 'project').description)}</dd>
        <dt><code>Authorization: Bearer</code></dt><dd>${prose(under(schemes, 'bearer').description)}</dd>
        <dt id="networks">Networks</dt><dd>${input.networks}</dd>
        <dt>For programs</dt><dd><a href="${input.root}/openapi/json">this page as an OpenAPI document</a></dd>
      </dl>
      <p>The examples take <code>$project</code> and <code>$key</code> from your shell: set them to your project's id and to the bearer
        token.</p>
    </section>`
}

const errorCodes = Object.keys(ERROR_STATUS) as ErrorCode[]

const errors = (): Html => html`
    <section id="errors" aria-labelledby="errors-title">
      <h2 id="errors-title">Errors</h2>
      <p>Each error answers <code>{ "error": "one sentence", "code": "a stable word" }</code>. Programs compare the code; the
        sentence is for people and may change. To send the same request again helps only where it is said.</p>
      <dl class="errors">${errorCodes.map((code) => {
        const { means, remedy, retry } = ERROR_WORDS[code]
        return html`
        <dt id="error-${code}"><code>${code}</code> <span class="type">${ERROR_STATUS[code]}</span></dt>
        <dd>${prose(means)} ${prose(remedy)}${retry === undefined ? null : html` Send it again ${RETRY_TEXT[retry]}.`}</dd>`
      })}
      </dl>
    </section>`

/** @param input.root the path under which clients reach this service; '' if it is the host's root. */
export const apiPage = (document: Json, { root }: { readonly root: string }): string => {
  const schemas = under(under(document, 'components'), 'schemas')
  const [server] = Array.isArray(document.servers) ? document.servers.filter(isJson) : []
  const baseUrl = textOf(server?.url)
  const groups = groupsOf(document)
  return page({
    root,
    title: 'Strongroom API',
    head: html`
    <link rel="stylesheet" href="${root}/pages/api.css">`,
    body: html`<a class="skip" href="#begin">Skip the contents</a>${contents(groups)}
  <main>${beginning(document, { root, baseUrl, networks: textOf(under(schemas, 'Network').description) })}${groups.map(
    (group) => html`
    <section id="${group.id}" aria-labelledby="${group.id}-title">
      <h2 id="${group.id}-title">${group.name}</h2>
      <p>${group.text}</p>${group.operations.map((each) => operationView(each, { schemas, baseUrl }))}
    </section>`,
  )}${errors()}
    <a class="up" href="#contents">Contents</a>
  </main>`,
  })
}
