import { Fragment } from 'preact'

/** A line of a shell, which is broken between its words, and within one at its slashes, before it is broken anywhere else. */
export const ShellLine = ({ text }: { readonly text: string }) => (
  <code>
    {text.split(' ').map((word, index) => (
      <Fragment key={index}>
        {index > 0 && ' '}
        <span class="word-of-line">
          {word.split(/(?<=\/)/).map((part, place) => (
            <Fragment key={place}>
              {place > 0 && <wbr />}
              {part}
            </Fragment>
          ))}
        </span>
      </Fragment>
    ))}
  </code>
)
