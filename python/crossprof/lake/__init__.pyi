from ._captures import captures as captures
from ._compact import compact as compact
from ._engines import ray as ray, spark as spark, write_batch as write_batch
from ._export import export as export
from ._paths import captures_below as captures_below
from ._query import connect as connect
from ._regressions import regressions as regressions
from ._spark_source import CrossprofSource as CrossprofSource
from ._write import write as write
