import { describe, expect, it } from 'vitest'
import { type Backend, definePath } from '../../../src/logical/backend.js'
import { bool, duration, string } from '../../../src/logical/fields.js'
import { PathRuleTable } from '../../../src/logical/path-rules.js'
import { openApiDocument } from '../../../src/logical/openapi.js'

const backend: Backend = {
  type: 'test',
  rules: new PathRuleTable({ login: { access: 'open' }, 'role/*': { access: 'sudo' } }),
  paths: [
    definePath('login', { role_id: string('Who.', '', { isRequired: true }) }, 'Logs in.', { update: () => undefined }),
    definePath(
      'role/:name',
      {
        name: string('Which.'),
        ttl: duration('How long.', 60),
        old: bool('Not used.', false, { isDeprecated: true }),
      },
      'A role.',
      { read: () => undefined, update: () => undefined, exists: () => true },
    ),
  ],
}

describe('the OpenAPI document', () => {
  const document = openApiDocument('1.2.3', [{ path: 'auth/approle/', backend }]) as {
    paths: Record<string, Record<string, unknown>>
  }

  it('the OpenAPI document has one item per path of each mount', () => {
    expect(Object.keys(document.paths)).toEqual(['/auth/approle/login', '/auth/approle/role/{name}'])
    expect(document).toMatchObject({ openapi: '3.0.2', info: { version: '1.2.3' } })
  })

  it('the OpenAPI document marks paths without a token and paths with sudo', () => {
    expect(document.paths['/auth/approle/login']).toMatchObject({ 'x-vault-unauthenticated': true })
    expect(document.paths['/auth/approle/role/{name}']).toMatchObject({
      'x-vault-sudo': true,
      'x-vault-createSupported': true,
    })
  })

  it('the OpenAPI document takes parameters from the field table', () => {
    const item = document.paths['/auth/approle/role/{name}']
    expect(item?.parameters).toMatchObject([{ name: 'name', in: 'path', required: true }])
    expect(item?.post).toMatchObject({
      requestBody: {
        content: {
          'application/json': {
            schema: {
              properties: { ttl: { type: 'integer', format: 'seconds', default: 60 }, old: { deprecated: true } },
            },
          },
        },
      },
    })
    expect(Object.keys(item ?? {})).not.toContain('delete')
  })
})
